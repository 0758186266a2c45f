// The tokenizer that [data] describes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/kernel/config/data_config.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

struct OpenedTokenizer {
    std::shared_ptr<const Tokenizer> tokenizer;
    std::vector<std::string> problems;  // set if tokenizer is nullptr
};

// Reads data.vocabulary, or, for molecules without one, all files of data.train, the texts that are held out
// for evaluation too.
OpenedTokenizer open_tokenizer(const config::DataConfig& data);

}  // namespace switchyard::data
