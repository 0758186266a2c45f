// What config.json says of rotary positions: transformers 5 has all of it in rope_parameters, transformers 4
// in rope_theta and rope_scaling (transformers, modeling_rope_utils.py).
#pragma once

#include "core/kernel/config/model_config.h"
#include "core/workbench/model/weights/huggingface_reader.h"

namespace switchyard::model {

// Sets the rotary_ members. The types default, linear and llama3 are read; all others, numbers with which
// nothing can be computed, and keys of both releases that contradict each other are refused by name:
// std::invalid_argument.
void read_rotary(const HuggingFaceReader& keys, config::ModelConfig& model);

// rope_theta and rope_scaling.
nlohmann::ordered_json rotary_keys(const config::ModelConfig& model);

}  // namespace switchyard::model
