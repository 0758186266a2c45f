// The tokenizer in a GGUF file's metadata (llama.cpp, gguf-py/gguf/constants.py, class Tokenizer; how each is
// computed: llama.cpp, src/llama-vocab.cpp), said as a tokenizer.json, so that one reader makes it and a
// folder can keep it.
//
//   tokenizer.ggml.model "gpt2"    byte pairs over bytes: tokens and merges; how words are cut says
//                        "llama"   SentencePiece's byte pairs: a pair becomes the token with the best score
//   tokenizer.ggml.pre             of gpt2: "gpt-2", "smollm", "llama-bpe", "qwen2", "default", ...
#pragma once

#include <string>

#include "core/workbench/data/tokenizers/model_settings.h"
#include "core/workbench/gguf/gguf_file.h"

namespace switchyard::data {

struct GgufTokenizer {
    std::string json;      // as tokenizer.json
    std::string settings;  // as tokenizer_config.json
    SpecialNames names;    // by bos_token_id and so on, which the settings say, too
};

// Throws base::InputError naming the file, the key, what was expected and what came.
GgufTokenizer read_gguf_tokenizer(const gguf::File& file);

}  // namespace switchyard::data
