// Tokens of words that came before. A word has one place, and the last word of a place stays: so it is as
// large as it is made, and nothing has to be looked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/token_table.h"

namespace switchyard::data {

class WordCache {
public:
    // Adds the tokens of a word that is there; else calls `make()`, which adds them, and keeps them.
    template <class Make>
    void add_tokens(std::string_view word, std::vector<std::int64_t>& ids, const Make& make) {
        if (word.size() > longest) return make();
        if (entries_.empty()) entries_.resize(places);
        const auto hash = quick_hash(word);
        auto& entry = entries_[hash & (places - 1)];
        if (entry.hash == hash && entry.word == word) {
            ids.insert(ids.end(), entry.ids.begin(), entry.ids.end());
            return;
        }
        const auto before = ids.size();
        make();
        entry.hash = hash;
        entry.word = word;
        entry.ids.assign(ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end());
    }

private:
    static constexpr std::size_t places = 1 << 14, longest = 48;
    struct Entry {
        std::uint64_t hash = 0;
        std::string word;
        std::vector<std::int64_t> ids;
    };
    std::vector<Entry> entries_;
};

}  // namespace switchyard::data
