#include "core/workbench/data/tokenizers/pipeline/characters.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include <utf8proc.h>

namespace switchyard::data {

CharacterSet::CharacterSet(const std::vector<CodePointRange>& ranges) : bits_(limit / 64) {
    for (const auto& [first, last] : ranges) add(first, last);
}

void CharacterSet::add(char32_t first, char32_t last) {
    for (auto c = first; c <= last && c < limit; ++c) bits_[c >> 6U] |= std::uint64_t{1} << (c & 63U);
    if (last < limit) return;
    if (!high_.empty() && high_.back().last + 1 == first)
        high_.back().last = last;
    else
        high_.push_back({std::max(first, limit), last});
}

bool CharacterSet::holds_high(char32_t c) const {
    const auto next = std::upper_bound(high_.begin(), high_.end(), c,
                                       [](char32_t value, const auto& range) { return value < range.first; });
    return next != high_.begin() && c <= std::prev(next)->last;
}

bool is_control_character(char32_t c) {
    static const CharacterSet set(character_ranges::control);
    return set.holds(c);
}

bool is_punctuation_mark(char32_t c) {
    static const CharacterSet set(character_ranges::punctuation);
    return set.holds(c);
}

bool is_nonspacing_mark(char32_t c) {
    static const CharacterSet set(character_ranges::nonspacing_mark);
    return set.holds(c);
}

bool is_combining_mark(char32_t c) {
    static const CharacterSet set(character_ranges::combining_mark);
    return set.holds(c);
}

bool is_numeric(char32_t c) {
    static const CharacterSet set(character_ranges::numeric);
    return set.holds(c);
}

// Unicode's annex on regular expressions (UTS 18): alphabetic, marks, decimal numbers, connectors, joiners.
// What is alphabetic without being a letter, a letter number or a mark are circled and squared letters.
bool is_word_character(char32_t c) {
    static const CharacterSet set = [] {
        CharacterSet words(character_ranges::newer_word);
        for (char32_t point = 0; point < 0x110000; ++point) {
            const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(point));
            const bool word = (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME) ||
                              category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
                              category == UTF8PROC_CATEGORY_PC;
            if (word) words.add(point, point);
        }
        words.add(0x200C, 0x200D);
        for (const auto& [first, last] : std::array<CodePointRange, 4>{
                 {{0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}}})
            words.add(first, last);
        return words;
    }();
    return set.holds(c);
}

bool is_ideograph(char32_t c) {
    constexpr std::array<CodePointRange, 8> ranges{{{0x4E00, 0x9FFF},
                                                    {0x3400, 0x4DBF},
                                                    {0x20000, 0x2A6DF},
                                                    {0x2A700, 0x2B73F},
                                                    {0x2B740, 0x2B81F},
                                                    {0x2B920, 0x2CEAF},
                                                    {0xF900, 0xFAFF},
                                                    {0x2F800, 0x2FA1F}}};
    return c >= 0x3400 && std::any_of(ranges.begin(), ranges.end(),
                                      [c](const auto& r) { return c >= r.first && c <= r.last; });
}

char32_t simple_lower_case(char32_t c) {
    static const auto newer = [] {
        std::unordered_map<char32_t, char32_t> pairs;
        for (const auto& [upper, lower] : character_ranges::newer_lower_case) pairs.emplace(upper, lower);
        return pairs;
    }();
    const auto lower = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
    if (lower != c || c < 0x1C89) return lower;
    const auto found = newer.find(c);
    return found == newer.end() ? c : found->second;
}

}  // namespace switchyard::data
