#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stream_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "stream_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::flash::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;

// Two vectors' worth of numbers as float, in an order of their own that is the same for all rows: as they
// lie, but for bfloat16 the even ones, then the odd ones, which takes a shift and a mask.
struct Pair {
    V first, second;
};
Pair load(F f, const float* from) { return {hn::LoadU(f, from), hn::LoadU(f, from + hn::Lanes(f))}; }
#if HWY_TARGET == HWY_SCALAR
Pair load(F f, const c10::BFloat16* from) { return {hn::Set(f, from[0]), hn::Set(f, from[1])}; }
#else
Pair load(F f, const c10::BFloat16* from) {
    const hn::Repartition<std::uint16_t, F> half;
    const hn::Rebind<std::uint32_t, F> whole;
    const auto bits = hn::BitCast(whole, hn::LoadU(half, reinterpret_cast<const std::uint16_t*>(from)));
    return {hn::BitCast(f, hn::ShiftLeft<16>(bits)),
            hn::BitCast(f, hn::And(bits, hn::Set(whole, 0xFFFF0000U)))};
}
#endif
Pair load(F f, const c10::Half* from) {
    const hn::Rebind<hwy::float16_t, F> half;
    const auto* const at = reinterpret_cast<const hwy::float16_t*>(from);
    return {hn::PromoteTo(f, hn::LoadU(half, at)), hn::PromoteTo(f, hn::LoadU(half, at + hn::Lanes(f)))};
}

// From their order to the order in which they lie, and back.
template <class Storage>
constexpr std::int64_t place(std::int64_t i, std::int64_t lanes) {
    return std::is_same_v<Storage, c10::BFloat16> ? i % lanes * 2 + i / lanes : i;
}

// How far ahead of what is computed memory is asked for: in bytes of rows, which is what LibTorch's caches of
// keys mostly are end to end. Measured: from 2 KB on it no longer matters much; without it a thread reaches
// three quarters of what it can read.
constexpr std::int64_t bytes_ahead = 4096, line = 64;

template <class Storage>
std::int64_t rows_ahead(std::int64_t d) {
    return std::max<std::int64_t>(1, bytes_ahead / (d * static_cast<std::int64_t>(sizeof(Storage))));
}

template <class Storage>
HWY_INLINE void expect_row(const Storage* row, std::int64_t d) {
    const auto* const at = reinterpret_cast<const char*>(row);
    for (std::int64_t i = 0; i < d * static_cast<std::int64_t>(sizeof(Storage)); i += line)
        __builtin_prefetch(at + i, 0, 3);
}

template <class Storage>
void expect(const Storage* rows, std::int64_t stride, std::int64_t d) {
    for (std::int64_t j = 0; j < rows_ahead<Storage>(d); ++j) expect_row(rows + j * stride, d);
}

template <class Storage>
float rest_of_dot(const float* q, const Storage* row, std::int64_t from, std::int64_t d) {
    float sum = 0.0F;
    for (std::int64_t i = from; i < d; ++i) sum += q[i] * static_cast<float>(row[i]);
    return sum;
}

#if HWY_TARGET == HWY_SCALAR
void store_sums(F f, V a, V b, V c, V e, float* out) {
    hn::StoreU(a, f, out);
    hn::StoreU(b, f, out + 1);
    hn::StoreU(c, f, out + 2);
    hn::StoreU(e, f, out + 3);
}
#else
template <std::size_t lanes>
HWY_INLINE auto sum_of_blocks(hn::Vec<hn::CappedTag<float, lanes>> v) {
    if constexpr (lanes <= 4) {
        return v;
    } else {
        const hn::CappedTag<float, lanes / 2> half;
        return sum_of_blocks<lanes / 2>(hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
}

// The sums of four vectors, side by side.
HWY_INLINE void store_sums(F f, V a, V b, V c, V e, float* out) {
    const hn::Repartition<std::uint64_t, F> pairs;
    const auto ab = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(f, a, b), hn::InterleaveUpper(f, a, b)));
    const auto ce = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(f, c, e), hn::InterleaveUpper(f, c, e)));
    const V four = hn::Add(hn::BitCast(f, hn::InterleaveLower(pairs, ab, ce)),
                           hn::BitCast(f, hn::InterleaveUpper(pairs, ab, ce)));
    const hn::CappedTag<float, 4> block;
    hn::StoreU(sum_of_blocks<HWY_LANES(float)>(four), block, out);
}
#endif

// Four rows at a time: their sums do not wait for each other.
template <class Storage>
void dots(const float* q, const Storage* rows, std::int64_t stride, std::int64_t n, std::int64_t d,
          float* out) {
    const F f;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    constexpr std::int64_t most = 512;
    HWY_ALIGN float ordered[most];
    const std::int64_t whole = std::min(d, most) / (2 * lanes) * (2 * lanes), ahead = rows_ahead<Storage>(d);
    for (std::int64_t i = 0; i < whole; i += 2 * lanes)
        for (std::int64_t k = 0; k < 2 * lanes; ++k) ordered[i + k] = q[i + place<Storage>(k, lanes)];
    std::int64_t j = 0;
    for (; j + 4 <= n; j += 4) {
        const Storage* const r = rows + j * stride;
        for (std::int64_t k = 0; k < 4; ++k) expect_row(r + (k + ahead) * stride, d);
        V a = hn::Zero(f), b = a, c = a, e = a;
        for (std::int64_t i = 0; i < whole; i += 2 * lanes) {
            const V x = hn::LoadU(f, ordered + i), y = hn::LoadU(f, ordered + i + lanes);
            const Pair ra = load(f, r + i), rb = load(f, r + stride + i), rc = load(f, r + 2 * stride + i),
                       re = load(f, r + 3 * stride + i);
            a = hn::MulAdd(y, ra.second, hn::MulAdd(x, ra.first, a));
            b = hn::MulAdd(y, rb.second, hn::MulAdd(x, rb.first, b));
            c = hn::MulAdd(y, rc.second, hn::MulAdd(x, rc.first, c));
            e = hn::MulAdd(y, re.second, hn::MulAdd(x, re.first, e));
        }
        store_sums(f, a, b, c, e, out + j);
        for (std::int64_t k = 0; k < 4 && whole < d; ++k)
            out[j + k] += rest_of_dot(q, r + k * stride, whole, d);
    }
    for (; j < n; ++j) out[j] = rest_of_dot(q, rows + j * stride, 0, d);
}

template <class Storage>
void weighted_sum(const float* weights, const Storage* rows, std::int64_t stride, std::int64_t n,
                  std::int64_t d, float* out) {
    const F f;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    const std::int64_t ahead = rows_ahead<Storage>(d);
    const auto store = [&](std::int64_t c, V first, V second) {
        HWY_ALIGN float ordered[2 * HWY_MAX_BYTES / sizeof(float)];
        hn::StoreU(first, f, ordered);
        hn::StoreU(second, f, ordered + lanes);
        for (std::int64_t k = 0; k < 2 * lanes; ++k) out[c + place<Storage>(k, lanes)] = ordered[k];
    };
    std::int64_t c = 0;
    for (; c + 4 * lanes <= d; c += 4 * lanes) {
        V sums[4] = {hn::Zero(f), hn::Zero(f), hn::Zero(f), hn::Zero(f)};
        for (std::int64_t j = 0; j < n; ++j) {
            const V w = hn::Set(f, weights[j]);
            const Storage* const row = rows + j * stride + c;
            expect_row(row + ahead * stride, 4 * lanes);
            const Pair low = load(f, row), high = load(f, row + 2 * lanes);
            sums[0] = hn::MulAdd(w, low.first, sums[0]);
            sums[1] = hn::MulAdd(w, low.second, sums[1]);
            sums[2] = hn::MulAdd(w, high.first, sums[2]);
            sums[3] = hn::MulAdd(w, high.second, sums[3]);
        }
        store(c, sums[0], sums[1]);
        store(c + 2 * lanes, sums[2], sums[3]);
    }
    for (; c + 2 * lanes <= d; c += 2 * lanes) {
        V first = hn::Zero(f), second = first;
        for (std::int64_t j = 0; j < n; ++j) {
            const V w = hn::Set(f, weights[j]);
            const Pair row = load(f, rows + j * stride + c);
            first = hn::MulAdd(w, row.first, first);
            second = hn::MulAdd(w, row.second, second);
        }
        store(c, first, second);
    }
    for (; c < d; ++c) {
        float sum = 0.0F;
        for (std::int64_t j = 0; j < n; ++j) sum += weights[j] * static_cast<float>(rows[j * stride + c]);
        out[c] = sum;
    }
}

template <class Storage>
const StreamKernels<Storage>& kernels() {
    static constexpr StreamKernels<Storage> all{dots<Storage>, weighted_sum<Storage>, expect<Storage>};
    return all;
}

}  // namespace

const StreamKernels<float>& float_kernels() { return kernels<float>(); }
const StreamKernels<c10::BFloat16>& bfloat16_kernels() { return kernels<c10::BFloat16>(); }
const StreamKernels<c10::Half>& half_kernels() { return kernels<c10::Half>(); }

}  // namespace switchyard::flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::flash {

HWY_EXPORT(float_kernels);
HWY_EXPORT(bfloat16_kernels);
HWY_EXPORT(half_kernels);

template <>
const StreamKernels<float>& stream_kernels() {
    return HWY_DYNAMIC_DISPATCH(float_kernels)();
}
template <>
const StreamKernels<c10::BFloat16>& stream_kernels() {
    return HWY_DYNAMIC_DISPATCH(bfloat16_kernels)();
}
template <>
const StreamKernels<c10::Half>& stream_kernels() {
    return HWY_DYNAMIC_DISPATCH(half_kernels)();
}

}  // namespace switchyard::flash
#endif
