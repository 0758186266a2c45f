// Tensors of a file that a model has no place for: whether it then computes other numbers than the file's
// model would, and which of them are worth a word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/model/weights/huggingface_names.h"

namespace switchyard::model {

// The weight of `known` that this tensor is the bias of; nullptr: it is none's. `theirs` is the name that
// transformers gives it. The bias of an output projection that is kept a second time there is none's.
const TheirTensor* weight_of_bias(Family family, std::string_view theirs,
                                  const std::vector<TheirTensor>& known);

// "the model has no place for a, b and 3 more of FILE", without heads of other tasks, second copies of tied
// tables and what can be computed anew; empty: there is nothing else.
std::string unused_line(const std::string& file, const std::vector<std::string>& unused);

}  // namespace switchyard::model
