// Tokens that are found in a text before anything is cut, whatever the model: special ones, and those that
// somebody added. The rules are those of tokenizers' added_vocabulary.rs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/byte_trie.h"
#include "core/workbench/data/tokenizers/pipeline/normalizer.h"

namespace switchyard::data {

struct AddedToken {
    std::string content;
    std::int64_t id = -1;
    bool single_word = false;  // only where no word goes on
    bool lstrip = false;       // with the white space before it
    bool rstrip = false;       // with the white space behind it
    bool normalized = true;    // looked for in the normalized text, spelled as that
    bool special = false;      // left out of decoded texts

    bool operator==(const AddedToken&) const = default;
};

class AddedTokens {
public:
    // `normalizers`: what spells the text before tokens with `normalized` are looked for.
    AddedTokens(std::vector<AddedToken> tokens, const Normalizers& normalizers);

    // Calls `take(id, begin, end)` in order with each token found, and with what lies between them as -1;
    // that is never empty. `normalized`: which of the two kinds is looked for.
    template <class Take>
    void find_all(std::string_view text, bool normalized, const Take& take) const {
        const auto& trie = normalized ? in_normalized_ : in_raw_;
        std::size_t covered = 0;
        for (std::size_t at = 0; !trie.empty() && at < text.size();) {
            const auto found = longest_at(trie, text, at);
            if (found.token == nullptr) {
                ++at;
                continue;
            }
            at = found.end;
            auto begin = found.begin, end = found.end;
            if (!widen(*found.token, text, covered, begin, end)) continue;
            if (covered < begin) take(std::int64_t{-1}, covered, begin);
            take(found.token->id, begin, end);
            covered = end;
        }
        if (covered < text.size()) take(std::int64_t{-1}, covered, text.size());
    }

    // nullptr: the number is no added token's.
    const AddedToken* find(std::int64_t id) const;
    // How a token is spelled where it is decoded: the normalized text where it was looked for there.
    const std::string& spelling(const AddedToken& token) const;
    bool is_special(const std::string& content) const;
    const std::vector<AddedToken>& all() const { return tokens_; }

private:
    struct Found {
        const AddedToken* token = nullptr;
        std::size_t begin = 0, end = 0;
    };
    Found longest_at(const ByteTrie& trie, std::string_view text, std::size_t at) const;
    // With the white space that belongs to it; false: it may not stand here.
    static bool widen(const AddedToken& token, std::string_view text, std::size_t covered, std::size_t& begin,
                      std::size_t& end);

    std::vector<AddedToken> tokens_;
    std::vector<std::string> spellings_;
    std::unordered_map<std::int64_t, std::size_t> by_id_;
    std::unordered_set<std::string> special_;
    ByteTrie in_raw_, in_normalized_;
};

}  // namespace switchyard::data
