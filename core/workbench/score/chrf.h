// chrF of a corpus: F of n-grams of characters, with twice the weight on recall (Popovic 2015, "chrF:
// character n-gram F-score for automatic MT evaluation", WMT), and chrF++ with n-grams of words as well
// (Popovic 2017, "chrF++: words helping character n-grams", WMT); to the numbers of sacreBLEU's defaults
// (Post 2018): up to 6 characters, without white space, upper and lower case apart, the mean over the orders
// that both sides have.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/score/counts.h"

namespace switchyard::score {

class Chrf {
public:
    static constexpr std::size_t character_order = 6;

    // `word_order`: 0 for chrF, 2 for chrF++.
    explicit Chrf(std::size_t word_order = 0) : orders_(character_order + word_order) {}

    // A text and what it could have been; throws std::invalid_argument where that is nothing. Of several
    // references the one counts that gives this text the highest score.
    void add(std::string_view hypothesis, std::span<const std::string> references);
    // From 0 to 100; 0 of no texts.
    double score() const;

private:
    std::vector<Counts> orders_;  // of characters, then of words
};

}  // namespace switchyard::score
