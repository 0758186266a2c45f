// A model's parameters from a Hugging Face folder (model.safetensors with config.json) or a single safetensors file, and back.
#pragma once

#include <string>
#include <vector>

#include <switchyard/config/config.h>
#include <switchyard/host/atomic_file.h>
#include <switchyard/model/parameters.h>

namespace switchyard::model {

struct LoadedWeights {
    std::vector<std::string>
        problems;  // all that is wrong, each naming file, tensor, both shapes; then no parameter was changed
    std::vector<std::string>
        fresh;  // parameters of heads that the file does not have: they keep their initial values
    std::vector<std::string> unused;  // tensors of the file that this model has no place for
    std::string file;
};

// Values are converted to the parameters' dtype and device. A parameter that is missing is an error unless it belongs to a head (pooler, classifier, masked_lm,
// next_sentence), as it does when a pretrained encoder is given a new task.
LoadedWeights load_weights(const std::string& path, const config::ModelConfig& model, Parameters& parameters);

// Writes `folder`/model.safetensors and `folder`/config.json such that transformers reads them; makes the folder. `labels`: names of the classes of a classifier.
host::FileError save_weights(const std::string& folder, const config::ModelConfig& model,
                             const Parameters& parameters, const std::vector<std::string>& labels);

}  // namespace switchyard::model
