// The tokenizer of a job, opened.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/workbench/data/tokenizers/tokenizer.h"
#include "core/workbench/data/tokenizers/tokenizer_source.h"

namespace switchyard::data {

struct OpenedTokenizer {
    std::shared_ptr<const Tokenizer> tokenizer;
    std::vector<std::string> problems;  // set if tokenizer is nullptr
    const char* key = "";               // what the first problem is about; empty: it says so itself
};

// Reads the files that find_tokenizer finds, or, for molecules without one, all files of data.train, the
// texts that are held out for evaluation too.
OpenedTokenizer open_tokenizer(const config::DataConfig& data, const std::string& weights = "");

// Of a source with files.
OpenedTokenizer open_tokenizer_files(const config::DataConfig& data, const TokenizerSource& source);

// What the task needs and the tokenizer has not: "... has no token that ends a text (eos), which task.kind =
// \"causal_lm\" needs"; empty: nothing. `name` is what the tokenizer is called.
std::string missing_special(const Tokenizer& tokenizer, config::TaskKind task, const std::string& name);

}  // namespace switchyard::data
