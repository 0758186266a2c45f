// What a GGUF file says of its model (llama.cpp, gguf-py/gguf/constants.py: the keys LLM and Attention).
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/load.h"
#include "core/workbench/gguf/gguf_file.h"
#include "core/workbench/model/weights/gguf_names.h"

namespace switchyard::model {

struct GgufModel {
    config::ModelConfig model;
    GgufFamily family = GgufFamily::llama;
    std::vector<std::string>
        notes;          // metadata of the architecture that was not looked at, in whole sentences
    std::string error;  // names the file, the key, what was expected; set if it cannot be used
};

// The architectures llama and gpt2. Metadata with which the model computes something else (experts, scaled
// logits, other scalings of rotary positions than linear and Llama 3's) is refused by name. A file says
// nothing of dropout: it is 0.
GgufModel read_gguf_model(const gguf::File& file);

// The same as a configuration: [model], and the file as train.weights, which the tokenizer is found by too.
config::ModelFolder read_gguf_config(const std::string& path);

// A tensor that no parameter is made of: what Llama 3's scaling makes of each rotary frequency.
inline constexpr std::string_view rotary_factors_tensor = "rope_freqs.weight";

}  // namespace switchyard::model
