// Learns a vocabulary of pieces by byte pair encoding (Sennrich et al. 2016, arXiv:1508.07909): words begin
// as their characters, and the pair of neighbours that is the most frequent becomes a piece, again and again.
// Of pairs that are equally frequent the one whose tokens came first is taken, as Hugging Face's tokenizers
// do, so that both learn the same from the same words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/byte_pairs.h"

namespace switchyard::data {

// How often each word was seen.
using WordCounts = std::map<std::string, std::int64_t, std::less<>>;

struct MergeSettings {
    std::size_t size = 0;    // tokens in all, at most; those below and all characters come in any case
    std::int64_t least = 2;  // a pair that was seen fewer times is not merged
    std::string continuing;  // before all characters of a word but the first, as WordPiece's "##"
    std::vector<std::string> before;  // tokens that come first, as special ones
    std::u32string alphabet;          // characters that are tokens even if no word has them
};

struct LearnedPieces {
    std::vector<std::string> tokens;  // by number
    Merges merges;                    // as learnt
};

// Words are UTF-8.
LearnedPieces learn_merges(const WordCounts& words, const MergeSettings& settings);

}  // namespace switchyard::data
