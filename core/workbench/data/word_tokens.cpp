#include "core/workbench/data/word_tokens.h"

#include <algorithm>
#include <utility>

#include "core/kernel/base/printable.h"

namespace switchyard::data {

std::string WordTokens::add(std::string_view word) {
    auto pieces = tokenizer_.encode(word);
    if (pieces.empty()) {
        const auto unknown = tokenizer_.specials().unk;
        if (unknown < 0)
            return "the tokenizer makes nothing of '" + base::quoted(word) +
                   "' and has no unknown token to stand for it; expected words that it knows";
        pieces = {unknown};
    }
    words_.places.push_back(static_cast<std::int64_t>(words_.ids.size()));
    words_.ids.insert(words_.ids.end(), pieces.begin(), pieces.end());
    return "";
}

FramedWords WordTokens::framed(std::int64_t max_length) && {
    const auto behind = tokenizer_.behind_text();
    const auto most = std::max<std::int64_t>(max_length - static_cast<std::int64_t>(behind.size()), 1);
    words_.cut = max_length > 0 && static_cast<std::int64_t>(words_.ids.size()) > most;
    if (words_.cut) {
        words_.ids.resize(static_cast<std::size_t>(most));
        for (auto& place : words_.places) place = place < most ? place : -1;
    }
    words_.ids.insert(words_.ids.end(), behind.begin(), behind.end());
    return std::move(words_);
}

}  // namespace switchyard::data
