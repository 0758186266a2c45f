// One text or two as a classifier takes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

struct EncodedTexts {
    std::vector<std::int64_t> ids, token_type_ids;  // no types: all 0
    bool cut = false;
};

// [CLS] a [SEP] b [SEP], of types 0 and 1, cut to `max_length` (0: never) from the longer of the two first,
// as BERT does.
EncodedTexts encode_pair(const Tokenizer& tokenizer, const std::string& first, const std::string& second,
                         std::int64_t max_length);

}  // namespace switchyard::data
