// GPT-2's alphabet (Radford et al. 2019; encoder.py of openai/gpt-2): a printable character for each byte.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace switchyard::data {

// Bytes that are printable in Latin-1 stand for themselves, the others are U+0100 and up, in order.
constexpr std::array<char16_t, 256> byte_characters() {
    std::array<char16_t, 256> characters{};
    char16_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const bool itself = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
        characters[byte] = itself ? static_cast<char16_t>(byte) : next++;
    }
    return characters;
}

inline char32_t character_of_byte(unsigned char byte) {
    static constexpr auto characters = byte_characters();
    return characters[byte];
}

// Nothing: the character stands for no byte.
inline std::optional<unsigned char> byte_of_character(char32_t c) {
    static constexpr auto bytes = [] {
        std::array<std::int16_t, 0x144> table{};
        table.fill(-1);
        const auto characters = byte_characters();
        for (unsigned byte = 0; byte < 256; ++byte) table[characters[byte]] = static_cast<std::int16_t>(byte);
        return table;
    }();
    if (c >= bytes.size() || bytes[c] < 0) return std::nullopt;
    return static_cast<unsigned char>(bytes[c]);
}

}  // namespace switchyard::data
