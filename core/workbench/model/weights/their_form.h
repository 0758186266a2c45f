// Tensors in the form of Hugging Face's files (huggingface_names.h), from our parameters and back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/workbench/model/parameters.h"
#include "core/workbench/model/weights/huggingface_names.h"

namespace switchyard::model {

// Which tensors of a file these parameters are.
std::vector<TheirTensor> their_tensors(Family family, const Parameters& parameters);

// The rows of our parameter, or of what is shaped like it, that are this part; they share its memory.
at::Tensor rows_of(const TheirTensor::Part& part, const at::Tensor& ours);

std::vector<std::int64_t> shape_of(const TheirTensor& theirs, const Parameters& parameters);

// The tensor of a file from tensors in our form: parameters, or their gradients.
at::Tensor in_their_form(const TheirTensor& theirs,
                         const std::function<at::Tensor(const std::string&)>& ours);

// Sets the parameters from a tensor of that shape.
void set_from(const TheirTensor& theirs, const at::Tensor& value, const Parameters& parameters);

// Adds the names of those that set_from would change.
void add_unlike(const TheirTensor& theirs, const at::Tensor& value, const Parameters& parameters,
                std::vector<std::string>& names);

}  // namespace switchyard::model
