#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "row_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "row_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::flash::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using I = hn::Rebind<std::int32_t, F>;
using U = hn::Rebind<std::uint32_t, F>;
using V = hn::Vec<F>;

// 2^x for x <= 128: to the nearest whole number by the exponent, the rest by a polynomial that was fitted to the relative error on [-1/2, 1/2] (2e-9 there).
// Below 2^-126 the result is 0.
V exp2(F f, V x) {
    const V whole = hn::Round(x);
    const V rest = hn::Sub(x, whole);
    V y = hn::Set(f, 1.5345816e-4F);
    y = hn::MulAdd(y, rest, hn::Set(f, 1.3399931e-3F));
    y = hn::MulAdd(y, rest, hn::Set(f, 9.6184889e-3F));
    y = hn::MulAdd(y, rest, hn::Set(f, 5.5503288e-2F));
    y = hn::MulAdd(y, rest, hn::Set(f, 2.4022647e-1F));
    y = hn::MulAdd(y, rest, hn::Set(f, 6.9314721e-1F));
    y = hn::MulAdd(y, rest, hn::Set(f, 1.0F));
    const I i;
    const auto shifted = hn::ShiftLeft<23>(hn::ConvertTo(i, hn::Max(whole, hn::Set(f, -127.0F))));
    y = hn::BitCast(f, hn::Add(hn::BitCast(i, y), shifted));
    return hn::IfThenElseZero(hn::Ge(x, hn::Set(f, -126.0F)), y);
}

// tanh by 1 - 2 / (1 + e^2y); for small y its odd series, where that would cancel.
V tanh(F f, V y) {
    const V one = hn::Set(f, 1.0F);
    const V magnitude = hn::Min(hn::Abs(y), hn::Set(f, 10.0F));
    const V e = exp2(f, hn::Mul(magnitude, hn::Set(f, 2.0F * log2_e)));
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
    return hn::Mul(hn::Add(hn::Add(s, distance), dense), hn::Set(f, log2_e));
}

// The common case has its own loop: one product an element.
float finish_plain(float* s, std::int64_t n, float factor) {
    const F f;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    const V scale = hn::Set(f, factor);
    V top = hn::Set(f, -std::numeric_limits<float>::infinity());
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes) {
        const V x = hn::Mul(hn::LoadU(f, s + j), scale);
        top = hn::Max(top, x);
        hn::StoreU(x, f, s + j);
    }
    float largest = hn::GetLane(hn::MaxOfLanes(f, top));
    for (; j < n; ++j) {
        s[j] *= factor;
        largest = std::max(largest, s[j]);
    }
    return largest;
}

float finish_scores(float* s, std::int64_t n, const ScoreTerms& terms) {
    if (terms.soft_cap <= 0.0F && terms.distance == nullptr && terms.dense == nullptr)
        return finish_plain(s, n, terms.scale * log2_e);
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
        float largest = hn::GetLane(hn::MaxOfLanes(f, top));
        for (std::size_t k = 0; k < count; ++k) largest = std::max(largest, spare[2][k]);
        return largest;
    }
    return hn::GetLane(hn::MaxOfLanes(f, top));
}

float exponentials(const float* s, std::int64_t n, float base, float* out) {
    const F f;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    const V minus = hn::Set(f, base);
    V total = hn::Zero(f);
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes) {
        const V y = exp2(f, hn::Sub(hn::LoadU(f, s + j), minus));
        total = hn::Add(total, y);
        hn::StoreU(y, f, out + j);
    }
    float sum = hn::GetLane(hn::SumOfLanes(f, total));
    if (j < n) {
        float spare[HWY_MAX_BYTES / sizeof(float)] = {};
        std::copy_n(s + j, n - j, spare);
        hn::StoreU(exp2(f, hn::Sub(hn::LoadU(f, spare), minus)), f, spare);
        for (std::int64_t k = 0; k < n - j; ++k) sum += spare[k];
        std::copy_n(spare, n - j, out + j);
    }
    return sum;
}

// Both halves of 32-bit products; b is the same in all lanes.
struct Product {
    hn::Vec<U> high, low;
};
Product product(U u, hn::Vec<U> a, hn::Vec<U> b) {
#if HWY_TARGET == HWY_SCALAR
    const std::uint64_t whole = std::uint64_t{hn::GetLane(a)} * hn::GetLane(b);
    return {hn::Set(u, static_cast<std::uint32_t>(whole >> 32U)),
            hn::Set(u, static_cast<std::uint32_t>(whole))};
#else
    const hn::RepartitionToWide<U> wide;
    const auto even = hn::BitCast(wide, hn::MulEven(a, b));
    const auto odd_lanes = hn::BitCast(u, hn::ShiftRight<32>(hn::BitCast(wide, a)));
    const auto odd = hn::BitCast(wide, hn::MulEven(odd_lanes, b));
    return {hn::OddEven(hn::BitCast(u, odd), hn::BitCast(u, hn::ShiftRight<32>(even))),
            hn::OddEven(hn::BitCast(u, hn::ShiftLeft<32>(odd)), hn::BitCast(u, even))};
#endif
}

// The 16-bit numbers of `groups` groups of 64 columns, in the order of the columns (<switchyard/interfaces/dropout.h>): a lane makes one of a group's eight calls, and
// the two halves of word w of call c are columns 16 w + 2 c and the next.
void fill_numbers(std::uint16_t* numbers, std::int64_t groups, std::int64_t first_group,
                  const DropoutRow& row) {
    const U u;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(u));
    const auto m0 = hn::Set(u, 0xD2511F53U), m1 = hn::Set(u, 0xCD9E8D57U);
    std::uint32_t words[4][HWY_MAX_BYTES / sizeof(std::uint32_t)];
    const std::int64_t piece = std::min<std::int64_t>(lanes, 8);
    for (std::int64_t call = 0; call < 8 * groups; call += lanes) {
        auto c0 = hn::Iota(u, static_cast<std::uint32_t>(8 * first_group + call));
        auto c1 = hn::Set(u, row.row), c2 = hn::Set(u, row.head), c3 = hn::Set(u, row.document);
        auto key_low = static_cast<std::uint32_t>(row.seed);
        auto key_high = static_cast<std::uint32_t>(row.seed >> 32U);
        for (int round = 0; round < 10; ++round) {
            const Product first = product(u, c0, m0), second = product(u, c2, m1);
            c0 = hn::Xor(hn::Xor(second.high, c1), hn::Set(u, key_low));
            c1 = second.low;
            c2 = hn::Xor(hn::Xor(first.high, c3), hn::Set(u, key_high));
            c3 = first.low;
            key_low += 0x9E3779B9U;
            key_high += 0xBB67AE85U;
        }
        hn::StoreU(c0, u, words[0]);
        hn::StoreU(c1, u, words[1]);
        hn::StoreU(c2, u, words[2]);
        hn::StoreU(c3, u, words[3]);
        for (std::int64_t lane = 0; lane < lanes && call + lane < 8 * groups; lane += piece) {
            std::uint16_t* const group = numbers + (call + lane) / 8 * 64;
            for (int word = 0; word < 4; ++word)
                std::memcpy(group + word * 16 + (call + lane) % 8 * 2, words[word] + lane,
                            static_cast<std::size_t>(piece) * sizeof(std::uint32_t));
        }
    }
}

void drop(const float* p, std::int64_t n, std::int64_t first, const DropoutRow& row, float* out) {
    const F f;
    const I i;
    const hn::Rebind<std::uint16_t, F> half;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    const auto below = hn::Set(i, static_cast<std::int32_t>(row.threshold) - 1);
    constexpr std::int64_t groups_at_once = 8;
    HWY_ALIGN std::uint16_t numbers[64 * groups_at_once];
    for (std::int64_t begin = 0; begin < n; begin += 64 * groups_at_once) {
        const std::int64_t count = std::min<std::int64_t>(n - begin, 64 * groups_at_once);
        fill_numbers(numbers, (count + 63) / 64, (first + begin) / 64, row);
        std::int64_t j = 0;
        for (; j + lanes <= count; j += lanes) {
            const auto number = hn::PromoteTo(i, hn::LoadU(half, numbers + j));
            const auto keeps = hn::RebindMask(f, hn::Gt(number, below));
            hn::StoreU(hn::IfThenElseZero(keeps, hn::LoadU(f, p + begin + j)), f, out + begin + j);
        }
        for (; j < count; ++j) out[begin + j] = numbers[j] < row.threshold ? 0.0F : p[begin + j];
    }
}

void scale(float* x, std::int64_t n, float factor) {
    for (std::int64_t j = 0; j < n; ++j) x[j] *= factor;
}

float dot(const float* a, const float* b, std::int64_t n) {
    const F f;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    V total = hn::Zero(f);
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes) total = hn::MulAdd(hn::LoadU(f, a + j), hn::LoadU(f, b + j), total);
    float sum = hn::GetLane(hn::SumOfLanes(f, total));
    for (; j < n; ++j) sum += a[j] * b[j];
    return sum;
}

void score_gradients(float* ds, const float* p, const float* kept, std::int64_t n, float keep_scale,
                     float delta) {
    const F f;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    const V minus = hn::Set(f, delta), scale = hn::Set(f, keep_scale);
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes) {
        V x = hn::LoadU(f, ds + j);
        if (kept != nullptr) {
            const auto keeps = hn::Gt(hn::LoadU(f, kept + j), hn::Zero(f));
            x = hn::IfThenElseZero(keeps, hn::Mul(x, scale));
        }
        hn::StoreU(hn::Mul(hn::LoadU(f, p + j), hn::Sub(x, minus)), f, ds + j);
    }
    for (; j < n; ++j) {
        const float x = kept == nullptr ? ds[j] : kept[j] > 0.0F ? keep_scale * ds[j] : 0.0F;
        ds[j] = p[j] * (x - delta);
    }
}

void multiply(float* x, const float* factors, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) x[j] *= factors[j];
}

void add(float* x, const float* terms, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) x[j] += terms[j];
}

void to_bfloat16(const float* x, std::int64_t n, c10::BFloat16* out) {
    const F f;
    const I i;
    const U u;
    const hn::Rebind<std::uint16_t, F> half;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes) {
        const auto bits = hn::BitCast(u, hn::LoadU(f, x + j));
        const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1U));
        const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7FFFU))));
        hn::StoreU(hn::DemoteTo(half, hn::BitCast(i, rounded)), half,
                   reinterpret_cast<std::uint16_t*>(out + j));
    }
    for (; j < n; ++j) out[j] = c10::BFloat16(x[j]);
}

#if HWY_TARGET == HWY_SCALAR
template <class T>
void transpose(const T* x, std::int64_t m, std::int64_t n, std::int64_t ldx, T* out, std::int64_t ldo) {
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) out[j * ldo + i] = x[i * ldx + j];
}
#else
// A square of as many rows as a 128-bit vector has numbers: interleaving row i with row i + half, so often that every number has come to its place.
template <class T>
void transpose_square(const T* x, std::int64_t ldx, T* out, std::int64_t ldo) {
    constexpr std::size_t size = 16 / sizeof(T);
    const hn::Simd<T, size, 0> tag;
    hn::Vec<decltype(tag)> rows[size], next[size];
    for (std::size_t i = 0; i < size; ++i) rows[i] = hn::LoadU(tag, x + static_cast<std::int64_t>(i) * ldx);
    for (std::size_t step = 1; step < size; step *= 2) {
        for (std::size_t i = 0; i < size / 2; ++i) {
            next[2 * i] = hn::InterleaveLower(tag, rows[i], rows[i + size / 2]);
            next[2 * i + 1] = hn::InterleaveUpper(tag, rows[i], rows[i + size / 2]);
        }
        for (std::size_t i = 0; i < size; ++i) rows[i] = next[i];
    }
    for (std::size_t i = 0; i < size; ++i) hn::StoreU(rows[i], tag, out + static_cast<std::int64_t>(i) * ldo);
}

template <class T>
void transpose(const T* x, std::int64_t m, std::int64_t n, std::int64_t ldx, T* out, std::int64_t ldo) {
    constexpr std::int64_t size = 16 / sizeof(T);
    const std::int64_t whole_m = m / size * size, whole_n = n / size * size;
    for (std::int64_t j = 0; j < whole_n; j += size)
        for (std::int64_t i = 0; i < whole_m; i += size)
            transpose_square(x + i * ldx + j, ldx, out + j * ldo + i, ldo);
    for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = j < whole_n ? whole_m : 0; i < m; ++i) out[j * ldo + i] = x[i * ldx + j];
}
#endif

void transpose32(const std::uint32_t* x, std::int64_t m, std::int64_t n, std::int64_t ldx, std::uint32_t* out,
                 std::int64_t ldo) {
    transpose(x, m, n, ldx, out, ldo);
}

void transpose16(const std::uint16_t* x, std::int64_t m, std::int64_t n, std::int64_t ldx, std::uint16_t* out,
                 std::int64_t ldo) {
    transpose(x, m, n, ldx, out, ldo);
}

void interleave(const std::uint16_t* a, const std::uint16_t* b, std::int64_t n, std::uint16_t* out) {
    for (std::int64_t i = 0; i < n; ++i) {
        out[2 * i] = a[i];
        out[2 * i + 1] = b[i];
    }
}

}  // namespace

const RowKernels& kernels() {
    static constexpr RowKernels all{finish_scores, exponentials,    drop,       scale,
                                    dot,           score_gradients, multiply,   add,
                                    transpose32,   transpose16,     interleave, to_bfloat16};
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
