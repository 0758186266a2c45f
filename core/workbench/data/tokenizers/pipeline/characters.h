// What kinds of characters there are for Hugging Face's tokenizers, and their lower case.
#pragma once

#include <cstdint>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/character_ranges.h"

namespace switchyard::data {

// A set of code points: asked at once below 0x40000, by halving above.
class CharacterSet {
public:
    explicit CharacterSet(const std::vector<CodePointRange>& ranges);
    bool holds(char32_t c) const {
        if (c < limit) return (bits_[c >> 6U] >> (c & 63U) & 1U) != 0;
        return holds_high(c);
    }
    // From 0x40000 on in ascending order.
    void add(char32_t first, char32_t last);

private:
    static constexpr char32_t limit = 0x40000;
    bool holds_high(char32_t c) const;

    std::vector<std::uint64_t> bits_;
    std::vector<CodePointRange> high_;
};

// Unicode's White_Space, as Rust's char::is_whitespace.
inline bool is_white_space(char32_t c) {
    if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_control_character(char32_t c);  // without \t, \n, \r
bool is_punctuation_mark(char32_t c);
bool is_nonspacing_mark(char32_t c);
bool is_combining_mark(char32_t c);
bool is_numeric(char32_t c);
bool is_word_character(char32_t c);  // \w of Rust's regular expressions

// CJK ideographs: the ranges of BertNormalizer, including its 0x2B920, which in Unicode is 0x2B820.
bool is_ideograph(char32_t c);

// Rust's char::to_lowercase: calls `take` with each code point. Only U+0130 has two.
template <class Take>
void for_each_lower_case(char32_t c, const Take& take);

// Of all but U+0130.
char32_t simple_lower_case(char32_t c);

template <class Take>
void for_each_lower_case(char32_t c, const Take& take) {
    if (c < 0x80) return take(c >= 'A' && c <= 'Z' ? c + 32 : c);
    if (c != 0x130) return take(simple_lower_case(c));
    take('i');
    take(0x307);
}

}  // namespace switchyard::data
