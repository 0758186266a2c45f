// A stack of backends in one word of a command line, as an arm:
//
//     torch                             everything by torch
//     torch+precision=torch/bf16        the same in bf16
//     attention=flash                   the rest as the configuration says
#pragma once

#include <string>

#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

// A bare name stands for all that can be timed on its own: attention, normalization, activation, loss,
// optimizer and linear. Precisions have names of their own. Returns what is wrong, or "".
std::string read_stack(const std::string& text, ArmSpec& arm);

}  // namespace switchyard::compare
