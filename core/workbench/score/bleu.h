// BLEU of a corpus (Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation",
// ACL), to the numbers of sacreBLEU's defaults (Post 2018): n-grams of 1 to 4 words of tokenization 13a,
// upper and lower case apart, and where an order has no match the smoothing of mteval-v13a ("exp", method 3
// of Chen and Cherry 2014).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/workbench/score/counts.h"

namespace switchyard::score {

class Bleu {
public:
    // A text and what it could have been; throws std::invalid_argument where that is nothing. Of several
    // references an n-gram counts as often as the one has it that has it most often, and the one nearest in
    // length counts for the brevity penalty, the shorter of two.
    void add(std::string_view hypothesis, std::span<const std::string> references);
    // From 0 to 100; 0 of no texts.
    double score() const;

private:
    std::array<Counts, 4> orders_;  // of each length of n-grams; what is right is not counted
    std::int64_t hypothesis_words_ = 0, reference_words_ = 0;
};

}  // namespace switchyard::score
