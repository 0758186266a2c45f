// Llama 3's scaling of rotary positions from what it makes of each frequency, which is all that GGUF files
// keep of it.
#pragma once

#include <string>

#include "core/kernel/config/model_config.h"
#include "core/workbench/gguf/gguf_file.h"

namespace switchyard::model {

// `factors`: how many times slower each of the head_dim / 2 frequencies is. Finds the numbers with which
// RotaryScaling::llama3 gives just these, of head_dim and rotary_theta as they are. Throws base::InputError
// naming the file where there are none.
void set_llama3_scaling(const std::string& file, const gguf::Tensor& factors, config::ModelConfig& model);

}  // namespace switchyard::model
