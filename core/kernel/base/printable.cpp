#include "core/kernel/base/printable.h"

#include <algorithm>

#include <utf8proc.h>

#include "core/kernel/base/limits.h"

namespace switchyard::base {
namespace {

struct Character {
    utf8proc_int32_t codepoint = -1;  // -1: the byte is no UTF-8
    std::size_t bytes = 1;
};

Character first_of(std::string_view text) {
    Character character;
    const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                        static_cast<utf8proc_ssize_t>(text.size()), &character.codepoint);
    if (bytes <= 0) return {};
    character.bytes = static_cast<std::size_t>(bytes);
    return character;
}

std::string hexadecimal(unsigned value, int digits) {
    constexpr std::string_view figures = "0123456789abcdef";
    std::string text;
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += figures[(value >> shift) & 15U];
    return text;
}

bool changes_direction(utf8proc_int32_t c) {
    return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

bool is_control(utf8proc_int32_t c) { return c < 0x20 || (c >= 0x7f && c <= 0x9f); }

std::string written_out(utf8proc_int32_t c) {
    if (c == '\n') return "\\n";
    if (c == '\t') return "\\t";
    if (c == '\r') return "\\r";
    const auto value = static_cast<unsigned>(c);
    return c < 0x20 ? "\\x" + hexadecimal(value, 2) : "\\u" + hexadecimal(value, 4);
}

std::string written(std::string_view text, std::string_view kept, std::size_t most) {
    std::string result;
    std::size_t characters = 0;
    for (; !text.empty() && characters < most; ++characters) {
        const Character next = first_of(text);
        if (next.codepoint < 0) {
            result += "\\x" + hexadecimal(static_cast<unsigned char>(text.front()), 2);
        } else if (next.codepoint < 0x80 &&
                   kept.find(static_cast<char>(next.codepoint)) != std::string_view::npos) {
            result += text.front();
        } else if (is_control(next.codepoint) || changes_direction(next.codepoint)) {
            result += written_out(next.codepoint);
        } else {
            result += text.substr(0, next.bytes);
        }
        text.remove_prefix(next.bytes);
    }
    if (text.empty()) return result;
    for (; !text.empty(); ++characters) text.remove_prefix(first_of(text).bytes);
    return result + "... (" + std::to_string(characters) + " characters)";
}

}  // namespace

std::string printable(std::string_view text) { return written(text, "", text.size()); }

std::string printable_lines(std::string_view text) { return written(text, "\n\t", text.size()); }

std::string quoted(std::string_view text) { return written(text, "", limits::quoted_characters); }

std::size_t columns_of(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        const Character next = first_of(text);
        columns += next.codepoint < 0
                       ? 1
                       : static_cast<std::size_t>(std::max(0, utf8proc_charwidth(next.codepoint)));
        text.remove_prefix(next.bytes);
    }
    return columns;
}

}  // namespace switchyard::base
