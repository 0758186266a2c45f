// Dropout that every backend agrees on: which values are dropped is a function of a seed and of a value's
// logical position, not of the order in which some kernel visits it. So padded and packed layouts, forward,
// backward, recomputation and a resumed run all see the same mask, and no mask is ever stored.
//
// The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel Random Numbers: As Easy as 1, 2,
// 3", SC'11).
//
//   key     = the 64-bit seed that the core hands out for one call site and step (`site_seed`)
//   element = (document, head, row, column):  attention: (sequence, query head of the layer, query, key),
//     each counted within its sequence;
//             hidden states: (sequence, 0, position, channel)
//
// One Philox call makes 128 bits, eight 16-bit numbers. Columns go in groups of 64, eight calls a group, laid
// out so that both a vector unit and a tensor-core fragment find their columns without shuffling: within its
// group, column c reads
//
//   call   (c % 16) / 2        word   c / 16        half of the word   c % 2  (0: low)
//
//   counter = { (column / 64) * 8 + call,  row,  head,  document }
//
// The value is dropped when its number is below `threshold`, and what stays is multiplied by `keep_scale`,
// which is computed from the threshold (not from p), so the expectation is exact. The threshold has 16 bits:
// p is rounded to a multiple of 1/65536, and a p above 0 to at least 1/65536.
//
// constexpr throughout: the same source serves tests, CPU kernels and (with nvcc's --expt-relaxed-constexpr)
// device code.
#pragma once

#include <array>
#include <cstdint>

namespace switchyard {

// One call site's dropout for one step. p == 0 means none.
struct Dropout {
    double p = 0.0;  // probability of dropping, 0 <= p < 1
    std::uint64_t seed = 0;

    constexpr bool active() const { return p > 0.0; }
    constexpr std::uint32_t threshold() const {
        if (!active()) return 0;
        const auto rounded = static_cast<std::uint32_t>(p * 65536.0 + 0.5);
        return rounded < 1 ? 1 : rounded > 65535 ? 65535 : rounded;
    }
    constexpr double keep_scale() const { return 65536.0 / (65536.0 - threshold()); }
};

struct DropoutPosition {
    std::uint32_t document = 0;
    std::uint32_t head = 0;
    std::uint32_t row = 0;
    std::uint32_t column = 0;
};

constexpr std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                                     std::uint64_t key) {
    std::uint32_t key_low = static_cast<std::uint32_t>(key);
    std::uint32_t key_high = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * counter[0];
        const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * counter[2];
        counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key_low,
                   static_cast<std::uint32_t>(product1),
                   static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key_high,
                   static_cast<std::uint32_t>(product0)};
        key_low += 0x9E3779B9U;
        key_high += 0xBB67AE85U;
    }
    return counter;
}

// The 16-bit number of one element.
constexpr std::uint32_t dropout_number(std::uint64_t seed, const DropoutPosition& at) {
    const std::uint32_t in_group = at.column % 64;
    const std::uint32_t call = (in_group % 16) / 2;
    const auto words = philox4x32_10({(at.column / 64) * 8 + call, at.row, at.head, at.document}, seed);
    return (words[in_group / 16] >> (16 * (in_group % 2))) & 0xFFFFU;
}

constexpr bool dropout_keeps(const Dropout& dropout, const DropoutPosition& at) {
    return dropout_number(dropout.seed, at) >= dropout.threshold();
}

// The seed of one call site in one step: independent streams from one run seed. `site` numbers the call sites
// of a model (layer and operation) in a fixed order; `step` counts optimizer steps, so micro-batches of a
// step share it and are told apart by document.
constexpr std::uint64_t site_seed(std::uint64_t run_seed, std::uint64_t step, std::uint32_t site) {
    const auto words = philox4x32_10(
        {static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32), site, 0x53574954U},
        run_seed);
    return (std::uint64_t{words[1]} << 32) | words[0];
}

}  // namespace switchyard
