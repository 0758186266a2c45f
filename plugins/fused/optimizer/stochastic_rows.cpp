#include "common/targets.h"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimizer/stochastic_rows.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include <cstring>

#include "common/vectors-inl.h"
#include "stochastic_rows.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::fused::HWY_NAMESPACE {
namespace {

constexpr std::uint32_t magnitude = 0x7FFFFFFFU, infinite = 0x7F800000U, quiet = 0x00400000U;

std::uint16_t round_one(float value, std::uint32_t number) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if ((bits & magnitude) > infinite) return static_cast<std::uint16_t>((bits | quiet) >> 16U);
    const std::uint32_t sum = bits + number;
    const bool cut = (sum & infinite) == infinite;
    return static_cast<std::uint16_t>((cut ? bits : sum) >> 16U);
}

}  // namespace

void round_row(const float* values, std::int64_t n, std::uint64_t seed, std::uint32_t tensor,
               std::uint32_t row, std::uint16_t* rounded) {
    alignas(64) std::uint16_t numbers[numbers_of(stochastic_row)];
    draw_numbers(numbers, (n + 63) / 64, seed, {tensor, row});
    const F f;
    const U u;
    const Half16 half;
    const auto inf = hn::Set(u, infinite);
    std::int64_t i = 0;
    for (; i + lanes() <= n; i += lanes()) {
        const auto bits = hn::BitCast(u, hn::LoadU(f, values + i));
        const auto sum = hn::Add(bits, hn::PromoteTo(u, hn::LoadU(half, numbers + i)));
        const auto cut = hn::Eq(hn::And(sum, inf), inf);
        const auto nan = hn::Gt(hn::And(bits, hn::Set(u, magnitude)), inf);
        auto result = hn::IfThenElse(cut, bits, sum);
        result = hn::IfThenElse(nan, hn::Or(bits, hn::Set(u, quiet)), result);
        hn::StoreU(hn::DemoteTo(half, hn::BitCast(I(), hn::ShiftRight<16>(result))), half, rounded + i);
    }
    for (; i < n; ++i) rounded[i] = round_one(values[i], numbers[i]);
}

}  // namespace switchyard::fused::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::fused {

HWY_EXPORT(round_row);

void round_stochastically(const float* values, std::int64_t n, std::uint64_t seed, std::uint32_t tensor,
                          std::uint32_t row, std::uint16_t* rounded) {
    HWY_DYNAMIC_DISPATCH(round_row)(values, n, seed, tensor, row, rounded);
}

}  // namespace switchyard::fused
#endif
