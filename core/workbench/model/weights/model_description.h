// What files of weights say themselves of the model that they are of: the config.json of a folder, or a GGUF
// file's metadata.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"

namespace switchyard::model {

struct ModelDescription {
    std::string file;  // that says so; empty: nothing does
    std::optional<config::ModelConfig> model;
    std::vector<std::string> labels;  // id2label
    std::vector<std::string> notes;   // what may matter and was not looked at
    std::string error;                // why it cannot be used, with the file; then there is no model
};

// `weights`: as train.weights names them.
ModelDescription describe_weights(const std::string& weights);

// "FILE: not the configured model: model.KEY: ..." for each difference to `ours`.
std::vector<std::string> differences(const config::ModelConfig& ours, const ModelDescription& theirs);

}  // namespace switchyard::model
