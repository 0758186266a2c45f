// The dynamic 8-bit code books: Dettmers 2016 (arXiv:1511.04561), Dettmers et al. 2022 (arXiv:2110.02861),
// section 1.3 and appendix F.
//
// Seven decades below 1: decade i has 2^i codes (without a sign, 2^(i+1)) at the middles of equal parts of
// (0.1, 1) * 10^(i - 6); then 0 and 1. With a sign each but 0 and 1 is there twice. The values are those of
// float32 arithmetic in the order in which the published book is made (tests/fixtures/make_dynamic_codes.py),
// so they are the same bits.
#pragma once

#include <array>
#include <cstdint>

namespace switchyard::optim8bit {

// Ascending.
using CodeBook = std::array<float, 256>;

const CodeBook& signed_codes();
const CodeBook& unsigned_codes();

constexpr std::uint8_t signed_zero = 127;
constexpr std::uint8_t unsigned_zero = 0;

// The way from a magnitude y in [0, 1] to the place of the nearest code, counted from the code of 0. It falls
// into nine pieces - below the first code, the seven decades, the last code - and place = min(slope * y +
// offset, last), rounded. A vector unit finds the piece so: numbers that agree in sign and all but the last
// bit of the exponent are within a factor of 4, where at most one piece begins; these bits are the number of
// the cell.
struct CodeFinder {
    std::array<float, 16> threshold;     // of the cells: where a piece begins, infinite where none does
    std::array<std::int32_t, 16> below;  // the piece below it; from there on it is the next
    std::array<float, 16> slope, offset, last;  // of the pieces
};

const CodeFinder& signed_finder();
const CodeFinder& unsigned_finder();

}  // namespace switchyard::optim8bit
