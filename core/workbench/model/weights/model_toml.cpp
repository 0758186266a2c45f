#include "core/workbench/model/weights/model_toml.h"

#include <filesystem>

#include "core/kernel/config/value.h"
#include "core/workbench/model/weights/huggingface_keys.h"

namespace switchyard::model {

std::string model_toml(const config::ModelConfig& model, const std::string& weights) {
    std::string text = "[model]\n";
    const auto section = keys_of(model, Family::own).front();
    for (const auto& [key, value] : section.items()) {
        const bool known = key != "max_positions" || model.max_positions > 0;
        if (known) text += key + " = " + value.dump() + "\n";
    }
    std::error_code error;
    const auto here = std::filesystem::absolute(weights, error);
    return text + "[train]\nweights = " + config::toml_string(error ? weights : here.string()) + "\n";
}

}  // namespace switchyard::model
