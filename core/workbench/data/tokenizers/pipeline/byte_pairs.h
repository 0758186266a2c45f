// Byte pair encoding (Sennrich et al. 2016, arXiv:1508.07909; on bytes: Radford et al. 2019): a word is its
// characters, and neighbours that form a pair of the list of merges become one, the pair that stands first in
// the list first, of several the leftmost.
#pragma once

#include <array>
#include <memory>

#include "core/workbench/data/tokenizers/pipeline/word_model.h"

namespace switchyard::data {

// Left and right token of a pair, in the order of their rank.
using Merges = std::vector<std::pair<std::string, std::string>>;

class BytePairs final : public WordModel {
public:
    struct Options {
        std::string unknown;         // for characters that are no token; empty: they are left out
        std::string continuing;      // stands before all characters of a word but the first
        std::string end_of_word;     // stands behind the last one
        bool fuse_unknown = false;   // several unknown characters behind one another are one token
        bool byte_fallback = false;  // an unknown character becomes the tokens <0x00> to <0xFF> of its bytes
        bool ignore_merges = false;  // a word that is a token is that token
        bool takes_bytes = false;    // words come as bytes, the vocabulary is in GPT-2's alphabet
    };
    // Whether these options and bytes as words go together.
    static bool can_take_bytes(const Options& options);
    // Throws InputError.
    BytePairs(const NumberedTokens& tokens, const Merges& merges, const Options& options);
    ~BytePairs() override;

    void add_tokens(std::string_view word, std::vector<std::int64_t>& ids) const override;
    bool may_fail() const override;

private:
    class Pairs;
    struct Symbol;

    void add_merges(const Merges& merges);
    // Characters of a word as tokens.
    void begin(std::string_view word, std::vector<std::uint32_t>& symbols) const;
    void merge_few(std::vector<std::uint32_t>& symbols) const;
    void merge_many(std::vector<std::uint32_t>& symbols) const;
    std::int64_t token_of_character(std::string_view character, bool first, bool last) const;
    bool add_bytes(std::string_view text, std::vector<std::uint32_t>& symbols) const;

    Options options_;
    std::unique_ptr<Pairs> pairs_;
    TokenTable as_bytes_;                       // with takes_bytes: tokens as what their characters stand for
    std::array<std::int64_t, 256> of_byte_{};   // of bytes as words have them
    std::array<std::int64_t, 256> fallback_{};  // <0x00> to <0xFF>
    bool all_bytes_ = false;
};

}  // namespace switchyard::data
