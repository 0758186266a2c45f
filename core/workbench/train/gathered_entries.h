// Tensors that ranks have of their own, such as parts of an optimizer's state, brought to the first rank.
#pragma once

#include <string>
#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include "core/workbench/distributed/group.h"

namespace switchyard::train {

// On all ranks. The first one gets those of all, in the order of ranks; the others nothing. They send one
// after the other, each when the first is ready for it, however long those before it take, and return
// together. `what`: a name that no call had before.
std::vector<OptimizerStateEntry> gather_entries(distributed::Group& group,
                                                const std::vector<OptimizerStateEntry>& own,
                                                const std::string& what);

}  // namespace switchyard::train
