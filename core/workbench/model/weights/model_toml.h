// A model that was read elsewhere as a configuration.
#pragma once

#include <string>

#include "core/kernel/config/model_config.h"

namespace switchyard::model {

// [model] with all its keys, and `weights` (its absolute path) as train.weights. max_positions is left out
// where it is 0.
std::string model_toml(const config::ModelConfig& model, const std::string& weights);

}  // namespace switchyard::model
