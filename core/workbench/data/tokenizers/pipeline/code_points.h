// Code points of UTF-8 (RFC 3629).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace switchyard::data {

struct CodePoint {
    char32_t value = 0;
    std::size_t size = 1;  // bytes
};

// The one that begins at `at`; the text is valid UTF-8.
inline CodePoint code_point_at(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return {first, 1};
    const auto next = [&](std::size_t i) { return static_cast<char32_t>(byte(i) & 0x3FU); };
    if (first < 0xE0) return {(first & 0x1FU) << 6U | next(1), 2};
    if (first < 0xF0) return {(first & 0x0FU) << 12U | next(1) << 6U | next(2), 3};
    return {(first & 0x07U) << 18U | next(1) << 12U | next(2) << 6U | next(3), 4};
}

// Where the last code point of a text that is not empty begins.
inline std::size_t last_code_point(std::string_view text) {
    auto at = text.size() - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
    return at;
}

inline std::size_t count_code_points(std::string_view text) {
    std::size_t count = 0;
    for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1U : 0U;
    return count;
}

inline void append_code_point(std::string& text, char32_t c) {
    const auto put = [&](char32_t bits) { text += static_cast<char>(bits); };
    if (c < 0x80) return put(c);
    if (c < 0x800) {
        put(0xC0U | c >> 6U);
    } else {
        if (c < 0x10000) {
            put(0xE0U | c >> 12U);
        } else {
            put(0xF0U | c >> 18U);
            put(0x80U | (c >> 12U & 0x3FU));
        }
        put(0x80U | (c >> 6U & 0x3FU));
    }
    put(0x80U | (c & 0x3FU));
}

// How many bytes at `at` are the beginning of a code point, and no more of one: the "maximal subpart" that
// Unicode replaces by one U+FFFD. 0: a whole code point begins there.
std::size_t broken_bytes_at(std::string_view text, std::size_t at);

// The text with U+FFFD in place of what is no UTF-8.
std::string repaired_utf8(std::string_view text);

}  // namespace switchyard::data
