// Binary floating-point formats that training uses, and what becomes of a value that is rounded to one, to
// nearest and ties to even.
//
// Sources: IEEE 754-2019 (fp32, fp16); Kalamkar et al. 2019, arXiv:1905.12322 (bf16); NVIDIA A100 whitepaper,
// 2020 (tf32); Micikevicius et al. 2022, arXiv:2209.05433, and OCP OFP8 1.0, 2023 (E4M3, E5M2). E4M3 has no
// infinity: only its largest code is not a number, so its largest value has all exponent bits set.
#pragma once

#include <array>
#include <cmath>
#include <string_view>

namespace switchyard::train {

struct NumberFormat {
    std::string_view name;
    int bits;  // that say something; tf32 is stored in 32
    int exponent_bits;
    int mantissa_bits;  // written down, without the leading one
    bool infinity = true;

    int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    double largest() const {
        const int top = infinity ? bias() : bias() + 1;
        return std::ldexp(2.0 - std::ldexp(infinity ? 1.0 : 2.0, -mantissa_bits), top);
    }
    double smallest_normal() const { return std::ldexp(1.0, 1 - bias()); }
    double smallest_subnormal() const { return std::ldexp(1.0, 1 - bias() - mantissa_bits); }
    // From 1 to the next number.
    double epsilon() const { return std::ldexp(1.0, -mantissa_bits); }
    double decimal_digits() const { return (mantissa_bits + 1) * std::log10(2.0); }

    // A magnitude up to here becomes 0.
    double flushed_up_to() const { return smallest_subnormal() / 2; }
    // One above flushed_up_to() and below this becomes subnormal: it keeps fewer digits.
    double normal_from() const { return smallest_normal() - smallest_subnormal() / 2; }
    // Halfway to what would come after the largest number. There a tie is even, and overflows, unless the
    // largest number's last bit is 0.
    double overflow_tie() const {
        const int top = infinity ? bias() : bias() + 1;
        return largest() + std::ldexp(1.0, top - mantissa_bits - 1);
    }
    bool tie_overflows() const { return infinity; }
};

inline constexpr std::array<NumberFormat, 6> number_formats{{{"fp32", 32, 8, 23},
                                                             {"tf32", 19, 8, 10},
                                                             {"bf16", 16, 8, 7},
                                                             {"fp16", 16, 5, 10},
                                                             {"E4M3", 8, 4, 3, false},
                                                             {"E5M2", 8, 5, 2}}};

// Those that values could be kept in instead.
inline constexpr std::array<NumberFormat, 4> candidate_formats{number_formats[3], number_formats[2],
                                                               number_formats[4], number_formats[5]};

}  // namespace switchyard::train
