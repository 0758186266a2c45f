// The words of a text as tokens, each word by itself, so that it is known where its first piece stands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

struct FramedWords {
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> places;  // of each word: where its first piece stands; -1: it is cut off
    bool cut = false;
};

class WordTokens {
public:
    explicit WordTokens(const Tokenizer& tokenizer)
        : tokenizer_(tokenizer), words_{tokenizer.before_text(), {}, false} {}

    // Why the word cannot be added; empty: it was. One that the tokenizer makes nothing of is one that it
    // does not know, and becomes its unknown token.
    std::string add(std::string_view word);

    // All words in the frame of a text, cut to `max_length` (0: never) by dropping the last pieces.
    FramedWords framed(std::int64_t max_length) &&;

private:
    const Tokenizer& tokenizer_;
    FramedWords words_;
};

}  // namespace switchyard::data
