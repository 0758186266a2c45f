// Sizes of the blocks that the caching allocator keeps: multiples of 64 bytes up to 512, then eight steps for
// each power of two, so that at most an eighth of a block stays unused.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace switchyard::machine {

inline constexpr std::size_t largest_block = std::size_t{1} << 47;  // of user space's addresses
inline constexpr std::size_t size_classes = 8 + (47 - 9) * 8;

// 1 <= bytes <= largest_block
constexpr std::size_t size_class_of(std::size_t bytes) {
    if (bytes <= 512) return (bytes + 63) / 64 - 1;
    const auto power =
        static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;  // 2^power < bytes <= 2^(power + 1)
    const std::size_t step = std::size_t{1} << (power - 3);
    const std::size_t steps = (bytes - (std::size_t{1} << power) + step - 1) / step;
    return 8 + (power - 9) * 8 + steps - 1;
}

constexpr std::size_t capacity_of(std::size_t size_class) {
    if (size_class < 8) return (size_class + 1) * 64;
    const std::size_t power = 9 + (size_class - 8) / 8;
    return (std::size_t{1} << power) + ((size_class - 8) % 8 + 1) * (std::size_t{1} << (power - 3));
}

}  // namespace switchyard::machine
