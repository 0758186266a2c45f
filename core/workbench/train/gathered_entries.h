// Tensors that ranks have of their own, such as parts of an optimizer's state, brought to those that save
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include "core/workbench/distributed/group.h"

namespace switchyard::train {

// Who gets the entries of a parameter: the same on all ranks.
using EntryReceiver = std::function<std::int64_t(const std::string& parameter)>;

// On all ranks. Each gets what all have of the parameters that `to` gives to it, in the order of ranks. One
// rank sends at a time, when all are ready for it, however long those before it take. `what`: a name that no
// call had before.
std::vector<OptimizerStateEntry> gather_entries(distributed::Group& group,
                                                const std::vector<OptimizerStateEntry>& own,
                                                const EntryReceiver& to, const std::string& what);

}  // namespace switchyard::train
