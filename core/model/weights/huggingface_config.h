// config.json of a Hugging Face model <-> [model] of ours.
#pragma once

#include <string>
#include <vector>

#include <switchyard/config/model_config.h>

namespace switchyard::model {

struct HuggingFaceConfig {
    config::ModelConfig model;
    std::vector<std::string> labels;  // id2label in order; empty where there is none
    std::string error;                // names the file, the key, what was expected; set if it cannot be used
};

// BERT. Keys that say something this framework does differently (another activation, relative positions) are errors, others are ignored.
HuggingFaceConfig read_huggingface_config(const std::string& path);

// What differs between two models that must be the same, as "hidden_size: 384 here, 768 in config.json"; dropout does not count.
std::vector<std::string> differences(const config::ModelConfig& ours, const config::ModelConfig& theirs);

// `architecture`: the class of transformers that the weights are of, "BertForMaskedLM".
std::string to_huggingface_config(const config::ModelConfig& model, const std::string& architecture,
                                  const std::vector<std::string>& labels);

}  // namespace switchyard::model
