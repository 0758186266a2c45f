// config.json of a Hugging Face model <-> [model] of ours.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/kernel/config/load.h"
#include "core/workbench/model/weights/huggingface_family.h"

namespace switchyard::model {

struct HuggingFaceConfig {
    config::ModelConfig model;        // max_positions 0 where config.json has none (t5 1.1)
    std::vector<std::string> labels;  // id2label in order; empty where there is none
    std::vector<std::string> notes;   // what may matter and was not looked at, in whole sentences
    std::string error;                // names the file, the key, what was expected; set if it cannot be used
};

// BERT, RoBERTa, DistilBERT, GPT-2, Llama, T5, as transformers 4 and 5 write them, and what we saved under
// our own names. Keys that make the model compute something else (another activation, scaled rotary
// positions) are errors; huggingface_reader.h.
HuggingFaceConfig read_huggingface_config(const std::string& path);

// What a Hugging Face folder or a GGUF file says of its model, as a configuration: [model], and the folder or
// file itself as train.weights, which the tokenizer is found by too. Of a folder nothing but its config.json
// is read.
config::ModelFolder read_model_folder(const std::string& folder);

// What differs between two models that must be the same, as "hidden_size: 384 configured, 768 in
// config.json"; dropout does not count. `there`: where `theirs` stands.
std::vector<std::string> differences(const config::ModelConfig& ours, const config::ModelConfig& theirs,
                                     const std::string& there = "config.json");

// What config.json says besides the model.
struct HuggingFaceFacts {
    std::string architecture;         // the class of transformers that the weights are of, "BertForMaskedLM"
    std::vector<std::string> labels;  // of a regression its numbers; transformers count the outputs by them
    std::string problem_type;  // of a classifier of sequences, which loss it is trained with; empty: none
    std::int64_t pad_id = 0;   // of a t5 also the decoder's first token
    std::optional<std::int64_t> bos_id, eos_id;
};
std::string to_huggingface_config(const config::ModelConfig& model, Family family,
                                  const HuggingFaceFacts& facts);

}  // namespace switchyard::model
