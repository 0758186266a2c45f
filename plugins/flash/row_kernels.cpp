#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "row_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <switchyard/interfaces/dropout.h>
#include <switchyard/sdk/cpu/float_rows-inl.h>
#include <switchyard/sdk/cpu/panels-inl.h>

#include "row_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::flash::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using I = hn::Rebind<std::int32_t, F>;
using U = hn::Rebind<std::uint32_t, F>;
using V = hn::Vec<F>;

// NaN where x is. Min of x86 gives its second argument where one is NaN; elsewhere it may give the number.
V at_most(F f, float most, V x) {
    const V clamped = hn::Min(hn::Set(f, most), x);
    return HWY_ARCH_X86 ? clamped : hn::IfThenElse(hn::IsNaN(x), x, clamped);
}

// weight * 2^(factor * x) where factor * x < 127.5: to the nearest whole number by the exponent, the rest by
// a polynomial that was fitted to the relative error on [-1/2, 1/2] (2e-9 there) and has the weight in its
// coefficients. Below 2^-110 * weight the result is 0, so that it is no denormal number. NaN stays NaN, for
// both parts are multiplied.
class Power {
public:
    Power(float factor, float weight) : factor_(hn::Set(F(), factor)) {
        constexpr float coefficients[] = {1.5345816e-4F, 1.3399931e-3F, 9.6184889e-3F, 5.5503288e-2F,
                                          2.4022647e-1F, 6.9314721e-1F, 1.0F};
        for (int i = 0; i < 7; ++i) coefficients_[i] = hn::Set(F(), coefficients[i] * weight);
    }

    HWY_INLINE V operator()(V x) const {
        const F f;
        const U u;
        // So large that a sum with it has no place for a fraction, and the whole number in its lowest bits
        // (as in Arm's optimized routines, math/exp2f.c).
        constexpr float large = 12582912.0F;  // 1.5 * 2^23
        const V sum = hn::MulAdd(x, factor_, hn::Set(f, large));
        const V rest = hn::MulSub(x, factor_, hn::Sub(sum, hn::Set(f, large)));
        V y = coefficients_[0];
        for (int i = 1; i < 7; ++i) y = hn::MulAdd(y, rest, coefficients_[i]);
        const auto power = hn::Add(hn::ShiftLeft<23>(hn::BitCast(u, sum)), hn::Set(u, 0x3F800000U));
        return hn::IfThenZeroElse(hn::Lt(sum, hn::Set(f, large - 110.0F)), hn::Mul(y, hn::BitCast(f, power)));
    }

private:
    V factor_;
    V coefficients_[7];
};

// tanh by 1 - 2 / (1 + e^2y); for small y its odd series, where that would cancel.
V tanh(F f, V y) {
    const V one = hn::Set(f, 1.0F);
    const V magnitude = at_most(f, 10.0F, hn::Abs(y));
    const V e = Power(2.0F * log2_e, 1.0F)(magnitude);
    const V large = hn::Sub(one, hn::Div(hn::Set(f, 2.0F), hn::Add(one, e)));
    const V square = hn::Mul(magnitude, magnitude);
    V series = hn::Set(f, 62.0F / 2835.0F);
    series = hn::NegMulAdd(series, square, hn::Set(f, 17.0F / 315.0F));
    series = hn::NegMulAdd(series, square, hn::Set(f, 2.0F / 15.0F));
    series = hn::NegMulAdd(series, square, hn::Set(f, 1.0F / 3.0F));
    series = hn::Mul(hn::NegMulAdd(series, square, one), magnitude);
    return hn::CopySign(hn::IfThenElse(hn::Lt(magnitude, hn::Set(f, 0.2F)), series, large), y);
}

V scores_at(F f, V s, const ScoreTerms& terms, V distance, V dense, V& slope) {
    s = hn::Mul(s, hn::Set(f, terms.scale));
    if (terms.soft_cap > 0.0F) {
        const V t = tanh(f, hn::Mul(s, hn::Set(f, 1.0F / terms.soft_cap)));
        slope = hn::NegMulAdd(t, t, hn::Set(f, 1.0F));
        s = hn::Mul(t, hn::Set(f, terms.soft_cap));
    }
    return hn::Add(hn::Add(s, distance), dense);
}

float largest(const float* s, std::int64_t n) {
    const F f;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    V top = hn::Set(f, -std::numeric_limits<float>::infinity());
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes) top = hn::Max(top, hn::LoadU(f, s + j));
    float result = hn::GetLane(hn::MaxOfLanes(f, top));
    for (; j < n; ++j) result = std::max(result, s[j]);
    return result;
}

float finish_scores(float* s, std::int64_t n, const ScoreTerms& terms) {
    if (terms.plain()) return largest(s, n);
    const F f;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    const V zero = hn::Zero(f);
    V top = hn::Set(f, -std::numeric_limits<float>::infinity());
    float spare[4][HWY_MAX_BYTES / sizeof(float)];
    for (std::int64_t j = 0; j < n; j += lanes) {
        const auto count = static_cast<std::size_t>(std::min(lanes, n - j));
        const auto load = [&](const float* from, int place) {
            if (static_cast<std::int64_t>(count) == lanes) return hn::LoadU(f, from);
            std::fill_n(spare[place], lanes, 0.0F);
            std::copy_n(from, count, spare[place]);
            return hn::LoadU(f, spare[place]);
        };
        const V distance = terms.distance != nullptr ? load(terms.distance + j, 0) : zero;
        const V dense = terms.dense == nullptr    ? zero
                        : terms.dense_stride == 0 ? hn::Set(f, *terms.dense)
                                                  : load(terms.dense + j, 1);
        V slope = hn::Set(f, 1.0F);
        const V x = scores_at(f, load(s + j, 2), terms, distance, dense, slope);
        if (static_cast<std::int64_t>(count) == lanes) {
            hn::StoreU(x, f, s + j);
            if (terms.slope != nullptr) hn::StoreU(slope, f, terms.slope + j);
            top = hn::Max(top, x);
            continue;
        }
        hn::StoreU(x, f, spare[2]);
        hn::StoreU(slope, f, spare[3]);
        std::copy_n(spare[2], count, s + j);
        if (terms.slope != nullptr) std::copy_n(spare[3], count, terms.slope + j);
        return std::max(hn::GetLane(hn::MaxOfLanes(f, top)), largest(spare[2], n - j));
    }
    return hn::GetLane(hn::MaxOfLanes(f, top));
}

// The 16-bit numbers of a row's columns from the group of `first` on, in the order of the columns
// (<switchyard/interfaces/dropout.h>): the halves of word w of call c of a group are its columns 16 w + 2 c
// and the next.
class DropoutNumbers {
public:
    DropoutNumbers(const DropoutRow& row, std::int64_t first, std::int64_t n) : skipped_(first % 64) {
        const std::int64_t groups = n > 0 ? (skipped_ + n + 63) / 64 : 0;
        fill(row, first / 64, groups);
    }
    // Of column first + j.
    const std::uint16_t* at(std::int64_t j) const {
        return reinterpret_cast<const std::uint16_t*>(words_) + skipped_ + j;
    }

private:
    static constexpr std::int64_t rounds = 10;

#if HWY_TARGET == HWY_SCALAR
    void fill(const DropoutRow& row, std::int64_t first_group, std::int64_t groups) {
        for (std::int64_t call = 0; call < 8 * groups; ++call) {
            const auto words = philox4x32_10(
                {static_cast<std::uint32_t>(8 * first_group + call), row.row, row.head, row.document},
                row.seed);
            for (std::int64_t word = 0; word < 4; ++word)
                words_[call / 8 * 32 + word * 8 + call % 8] = words[word];
        }
    }
#else
    using W = hn::ScalableTag<std::uint64_t>;
    using Wide = hn::Vec<W>;

    void fill(const DropoutRow& row, std::int64_t first_group, std::int64_t groups) {
        constexpr std::int64_t lanes = HWY_LANES(std::uint64_t);
        constexpr std::int64_t calls_at_once = lanes < 8 ? 8 : lanes;
        constexpr std::int64_t vectors = calls_at_once / lanes;
        std::int64_t call = 0;
        for (; call + 4 * calls_at_once <= 8 * groups; call += 4 * calls_at_once)
            draw<4 * vectors>(row, first_group, call);
        for (; call < 8 * groups; call += calls_at_once) draw<vectors>(row, first_group, call);
    }

    // So many vectors of calls at once that their multiplications do not wait for each other. Each call has
    // 64 bits of a lane to itself: the upper halves, which the products leave behind, are never read.
    template <std::size_t vectors>
    HWY_INLINE void draw(const DropoutRow& row, std::int64_t first_group, std::int64_t call) {
        const W wide;
        const hn::Repartition<std::uint32_t, W> u;
        const hn::Rebind<std::uint32_t, W> half;
        constexpr std::int64_t lanes = HWY_LANES(std::uint64_t);
        const auto m0 = hn::BitCast(u, hn::Set(wide, 0xD2511F53U)),
                   m1 = hn::BitCast(u, hn::Set(wide, 0xCD9E8D57U));
        Wide c0[vectors], c1[vectors], c2[vectors], c3[vectors];
        for (std::size_t v = 0; v < vectors; ++v) {
            const auto first = 8 * first_group + call + static_cast<std::int64_t>(v) * lanes;
            c0[v] = hn::Iota(wide, static_cast<std::uint64_t>(first));
            c1[v] = hn::Set(wide, row.row);
            c2[v] = hn::Set(wide, row.head);
            c3[v] = hn::Set(wide, row.document);
        }
        auto key_low = static_cast<std::uint32_t>(row.seed),
             key_high = static_cast<std::uint32_t>(row.seed >> 32U);
        for (std::int64_t round = 0; round < rounds; ++round) {
            const Wide low = hn::Set(wide, key_low), high = hn::Set(wide, key_high);
            for (std::size_t v = 0; v < vectors; ++v) {
                const Wide first = hn::MulEven(hn::BitCast(u, c0[v]), m0),
                           second = hn::MulEven(hn::BitCast(u, c2[v]), m1);
                c0[v] = hn::Xor3(hn::ShiftRight<32>(second), c1[v], low);
                c1[v] = second;
                c2[v] = hn::Xor3(hn::ShiftRight<32>(first), c3[v], high);
                c3[v] = first;
            }
            key_low += 0x9E3779B9U;
            key_high += 0xBB67AE85U;
        }
        for (std::size_t v = 0; v < vectors; ++v) {
            const std::int64_t at = call + static_cast<std::int64_t>(v) * lanes;
            std::uint32_t* const to = words_ + at / 8 * 32 + at % 8;
            hn::StoreU(hn::TruncateTo(half, c0[v]), half, to);
            hn::StoreU(hn::TruncateTo(half, c1[v]), half, to + 8);
            hn::StoreU(hn::TruncateTo(half, c2[v]), half, to + 16);
            hn::StoreU(hn::TruncateTo(half, c3[v]), half, to + 24);
        }
    }
#endif

    std::int64_t skipped_;
    HWY_ALIGN std::uint32_t words_[(most_dropped + 64) / 2 + 32];
};

// True where the numbers of a vector of columns keep it.
auto kept(F f, const std::uint16_t* numbers, std::uint32_t threshold) {
    const I i;
    const hn::Rebind<std::uint16_t, F> half;
    const auto number = hn::PromoteTo(i, hn::LoadU(half, numbers));
    return hn::RebindMask(f, hn::Gt(number, hn::Set(i, static_cast<std::int32_t>(threshold) - 1)));
}

// Calls `body(j, s + j)` for whole vectors, and for what remains on a copy of it.
template <class Body>
HWY_INLINE void for_each_vector(float* s, std::int64_t n, const Body& body) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(F()));
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes) body(j, s + j);
    if (j == n) return;
    float spare[HWY_MAX_BYTES / sizeof(float)] = {};
    std::copy_n(s + j, n - j, spare);
    body(j, spare);
    std::copy_n(spare, n - j, s + j);
}

float exponentials(float* s, std::int64_t n, const Exponential& exponential, std::int64_t first,
                   const DropoutRow* dropout) {
    const F f;
    const V top = hn::Set(f, exponential.top);
    const Power power_of(exponential.factor, exponential.weight);
    V total = hn::Zero(f);
    const auto power = [&](const float* at) { return power_of(hn::Sub(hn::LoadU(f, at), top)); };
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    // Lanes past the end are left out of the sum.
    const auto seen = [&](std::int64_t j, V y) {
        return j + lanes <= n ? y : hn::IfThenElseZero(hn::FirstN(f, static_cast<std::size_t>(n - j)), y);
    };
    if (dropout == nullptr) {
        for_each_vector(s, n, [&](std::int64_t j, float* at) {
            const V y = power(at);
            total = hn::Add(total, seen(j, y));
            hn::StoreU(y, f, at);
        });
        return hn::GetLane(hn::SumOfLanes(f, total));
    }
    const DropoutNumbers numbers(*dropout, first, n);
    for_each_vector(s, n, [&](std::int64_t j, float* at) {
        const V y = power(at);
        total = hn::Add(total, seen(j, y));
        hn::StoreU(hn::IfThenElseZero(kept(f, numbers.at(j), dropout->threshold), y), f, at);
    });
    return hn::GetLane(hn::SumOfLanes(f, total));
}

void scale(float* x, std::int64_t n, float factor) {
    for (std::int64_t j = 0; j < n; ++j) x[j] *= factor;
}

void score_gradients(float* ds, float* p, std::int64_t n, float delta, std::int64_t first,
                     const DropoutRow* dropout) {
    const F f;
    const V minus = hn::Set(f, delta);
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    float spare[HWY_MAX_BYTES / sizeof(float)] = {};
    const auto rest = [&](std::int64_t j) {
        if (j + lanes <= n) return p + j;
        std::copy_n(p + j, n - j, spare);
        return spare + 0;
    };
    if (dropout == nullptr) {
        for_each_vector(ds, n, [&](std::int64_t j, float* at) {
            hn::StoreU(hn::Mul(hn::LoadU(f, rest(j)), hn::Sub(hn::LoadU(f, at), minus)), f, at);
        });
        return;
    }
    const V scale = hn::Set(f, dropout->keep_scale);
    const DropoutNumbers numbers(*dropout, first, n);
    for_each_vector(ds, n, [&](std::int64_t j, float* at) {
        const auto keeps = kept(f, numbers.at(j), dropout->threshold);
        float* const from = rest(j);
        const V probability = hn::LoadU(f, from);
        const V x = hn::MulSub(hn::IfThenElseZero(keeps, hn::LoadU(f, at)), scale, minus);
        hn::StoreU(hn::Mul(probability, x), f, at);
        hn::StoreU(hn::IfThenElseZero(keeps, probability), f, from);
        if (from == spare) std::copy_n(spare, n - j, p + j);
    });
}

void multiply(float* x, const float* factors, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) x[j] *= factors[j];
}

void add(float* x, const float* terms, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) x[j] += terms[j];
}

}  // namespace

const RowKernels& kernels() {
    namespace sdk = switchyard::HWY_NAMESPACE;
    static const RowKernels all{finish_scores,
                                exponentials,
                                scale,
                                score_gradients,
                                multiply,
                                add,
                                sdk::row_of_floats<c10::BFloat16>,
                                sdk::panel_functions()};
    return all;
}

}  // namespace switchyard::flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::flash {

HWY_EXPORT(kernels);

const RowKernels& row_kernels() {
    static const RowKernels& chosen = HWY_DYNAMIC_DISPATCH(kernels)();
    return chosen;
}

}  // namespace switchyard::flash
#endif
