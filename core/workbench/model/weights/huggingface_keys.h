// The keys of config.json that describe the model, family by family (transformers,
// configuration_{bert,roberta,distilbert,gpt2,llama,t5}.py).
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/workbench/model/weights/huggingface_family.h"

namespace switchyard::model {

// Throws std::invalid_argument naming the key, what was expected and what came. `unknown`: keys that are not
// looked at, and of which nobody here knows that they may be passed.
config::ModelConfig model_from_keys(const nlohmann::json& object, std::vector<std::string>& unknown);

// What transformers' own file would say; for Family::own the section [model].
nlohmann::ordered_json keys_of(const config::ModelConfig& model, Family family);

}  // namespace switchyard::model
