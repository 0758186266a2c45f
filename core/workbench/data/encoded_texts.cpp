#include "core/workbench/data/encoded_texts.h"

#include <algorithm>

namespace switchyard::data {

EncodedTexts encode_pair(const Tokenizer& tokenizer, const std::string& first, const std::string& second,
                         std::int64_t max_length) {
    auto a = tokenizer.encode(first);
    auto b = tokenizer.encode(second);
    EncodedTexts result;
    const auto room = static_cast<std::size_t>(std::max<std::int64_t>(0, max_length - 3));
    while (max_length > 0 && a.size() + b.size() > room) {
        (a.size() > b.size() ? a : b).pop_back();
        result.cut = true;
    }
    auto& ids = result.ids;
    ids.push_back(tokenizer.specials().bos);
    ids.insert(ids.end(), a.begin(), a.end());
    ids.push_back(tokenizer.specials().eos);
    result.token_type_ids.assign(ids.size(), 0);
    ids.insert(ids.end(), b.begin(), b.end());
    ids.push_back(tokenizer.specials().eos);
    result.token_type_ids.resize(ids.size(), 1);
    return result;
}

}  // namespace switchyard::data
