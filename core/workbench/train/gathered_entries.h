// Tensors that ranks have of their own, such as parts of an optimizer's state, brought to the first rank.
#pragma once

#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include "core/workbench/distributed/group.h"

namespace switchyard::train {

// On all ranks. The first one gets those of all, in the order of ranks; the others nothing.
std::vector<OptimizerStateEntry> gather_entries(distributed::Group& group,
                                                const std::vector<OptimizerStateEntry>& own);

}  // namespace switchyard::train
