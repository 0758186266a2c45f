// Tokens that stand for single bytes, <0x00> to <0xFF>: SentencePiece's byte_fallback.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace switchyard::data {

inline std::string byte_token(unsigned byte) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    return {'<', '0', 'x', digits[byte >> 4U & 15U], digits[byte & 15U], '>'};
}

// Nothing: the token is none of them. Small letters are taken too.
inline std::optional<unsigned char> byte_of_token(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
    unsigned byte = 0;
    for (const char c : token.substr(3, 2)) {
        const bool digit = c >= '0' && c <= '9', small = c >= 'a' && c <= 'f', large = c >= 'A' && c <= 'F';
        if (!digit && !small && !large) return std::nullopt;
        byte = byte << 4U | static_cast<unsigned>(digit ? c - '0' : (small ? c - 'a' : c - 'A') + 10);
    }
    return static_cast<unsigned char>(byte);
}

}  // namespace switchyard::data
