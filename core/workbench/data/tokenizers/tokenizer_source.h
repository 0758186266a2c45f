// Which tokenizer a job has: the one that [data] names, or that of the folder of its weights.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/data_config.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

struct TokenizerSource {
    config::TokenizerKind kind = config::TokenizerKind::automatic;  // which it is; never automatic if found
    std::vector<std::string> files;     // of the tokenizer, its own first; none where it needs none
    std::vector<std::string> settings;  // files beside them that say more (model_settings.h)
    const char* key = "";               // "data.vocabulary" or "train.weights": what named it
    bool of_folder = false;             // the folder was named, not the file
    std::string error;                  // what is wrong with `key`; empty: it is found, or needs nothing
};

// Looks at names only, and at whether a file is one of GGUF, which holds its tokenizer. `weights`:
// train.weights; another file there has no tokenizer.
TokenizerSource find_tokenizer(const config::DataConfig& data, const std::string& weights);

// "MODEL/tokenizer.json, as train.weights brings it"; empty where no file is read.
std::string tokenizer_line(const TokenizerSource& source);

}  // namespace switchyard::data
