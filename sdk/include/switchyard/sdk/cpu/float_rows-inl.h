// Rows of float32, bfloat16 and float16 in vectors of Highway: to float, back, the sum of squares, and steps
// on rows of floats. Since 1.0.
//
// Included once for each target, as Highway's own "-inl.h" headers are, by a source that has
// <hwy/foreach_target.h>:
//
//     #include <hwy/highway.h>
//     #include <switchyard/sdk/cpu/float_rows-inl.h>
//     HWY_BEFORE_NAMESPACE();
//     namespace mine::HWY_NAMESPACE { ... switchyard::HWY_NAMESPACE::load_float(tag, pointer) ... }
#if defined(SWITCHYARD_SDK_FLOAT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SWITCHYARD_SDK_FLOAT_ROWS_INL_H_
#undef SWITCHYARD_SDK_FLOAT_ROWS_INL_H_
#else
#define SWITCHYARD_SDK_FLOAT_ROWS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <hwy/highway.h>

#include <switchyard/sdk/cpu/row_functions.h>

HWY_BEFORE_NAMESPACE();
namespace switchyard::HWY_NAMESPACE {

using FloatTag = hwy::HWY_NAMESPACE::ScalableTag<float>;
using FloatVec = hwy::HWY_NAMESPACE::Vec<FloatTag>;

using HalfTag = hwy::HWY_NAMESPACE::Rebind<std::uint16_t, FloatTag>;

HWY_INLINE FloatVec load_float(FloatTag f, const float* from) { return hwy::HWY_NAMESPACE::LoadU(f, from); }
HWY_INLINE FloatVec load_float(FloatTag f, const c10::BFloat16* from) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<std::uint32_t, FloatTag> whole;
    const auto bits = hn::LoadU(HalfTag(), reinterpret_cast<const std::uint16_t*>(from));
    return hn::BitCast(f, hn::ShiftLeft<16>(hn::PromoteTo(whole, bits)));
}
HWY_INLINE FloatVec load_float(FloatTag f, const c10::Half* from) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<hwy::float16_t, FloatTag> half;
    return hn::PromoteTo(f, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
}

// The nearest bfloat16, ties to even, as its bits; any NaN becomes the quiet one, for rounding could carry a
// NaN's bits into a zero.
HWY_INLINE auto bfloat16_bits(FloatVec x) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<std::uint32_t, FloatTag> u;
    const auto bits = hn::BitCast(u, x);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1U));
    const auto rounded = hn::IfThenElse(hn::RebindMask(u, hn::IsNaN(x)), hn::Set(u, 0x7FC00000U),
                                        hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7FFFU))));
#if HWY_TARGET == HWY_SCALAR
    const hn::Rebind<std::int32_t, FloatTag> i;
    return hn::DemoteTo(HalfTag(), hn::BitCast(i, hn::ShiftRight<16>(rounded)));
#else
    const hn::Repartition<std::uint16_t, decltype(u)> pairs;
    const auto halves = hn::BitCast(pairs, rounded);
    return hn::LowerHalf(HalfTag(), hn::ConcatOdd(pairs, halves, halves));
#endif
}

// To nearest, ties to even.
HWY_INLINE void store_float(FloatTag f, FloatVec x, float* to) { hwy::HWY_NAMESPACE::StoreU(x, f, to); }
HWY_INLINE void store_float(FloatTag, FloatVec x, c10::BFloat16* to) {
    hwy::HWY_NAMESPACE::StoreU(bfloat16_bits(x), HalfTag(), reinterpret_cast<std::uint16_t*>(to));
}
HWY_INLINE void store_float(FloatTag f, FloatVec x, c10::Half* to) {
    namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SSE2
    // Highway's conversion cuts digits off where the processor has none of its own.
    float values[HWY_MAX_BYTES / sizeof(float)];
    hn::StoreU(x, f, values);
    for (std::size_t i = 0; i < hn::Lanes(f); ++i) to[i] = c10::Half(values[i]);
#else
    const hn::Rebind<hwy::float16_t, FloatTag> half;
    hn::StoreU(hn::DemoteTo(half, x), half, reinterpret_cast<hwy::float16_t*>(to));
#endif
}

// step(x, lanes) on one vector of each row at a time; the first `written` of the rows are stored. What is
// left at the end is filled up with zeros, and `lanes` says how many are the row's.
template <std::size_t written, std::size_t count, class Step>
void walk(const float* const (&rows)[count], std::int64_t n, const Step& step) {
    namespace hn = hwy::HWY_NAMESPACE;
    const FloatTag f;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    FloatVec x[count];
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes) {
        for (std::size_t k = 0; k < count; ++k) x[k] = hn::LoadU(f, rows[k] + j);
        step(x, lanes);
        for (std::size_t k = 0; k < written; ++k) hn::StoreU(x[k], f, const_cast<float*>(rows[k]) + j);
    }
    if (j == n) return;
    float rest[count][HWY_MAX_BYTES / sizeof(float)] = {};
    for (std::size_t k = 0; k < count; ++k) {
        std::copy(rows[k] + j, rows[k] + n, rest[k]);
        x[k] = hn::LoadU(f, rest[k]);
    }
    step(x, n - j);
    for (std::size_t k = 0; k < written; ++k) {
        hn::StoreU(x[k], f, rest[k]);
        std::copy_n(rest[k], n - j, const_cast<float*>(rows[k]) + j);
    }
}

template <class Storage>
void floats_of_row(const Storage* from, std::int64_t n, float* to) {
    const FloatTag f;
    const auto lanes = static_cast<std::int64_t>(hwy::HWY_NAMESPACE::Lanes(f));
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes) store_float(f, load_float(f, from + j), to + j);
    for (; j < n; ++j) to[j] = static_cast<float>(from[j]);
}

template <class Storage>
void row_of_floats(const float* from, std::int64_t n, Storage* to) {
    const FloatTag f;
    const auto lanes = static_cast<std::int64_t>(hwy::HWY_NAMESPACE::Lanes(f));
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes) store_float(f, load_float(f, from + j), to + j);
    for (; j < n; ++j) to[j] = static_cast<Storage>(from[j]);
}

// In float32, which is enough for pieces of some ten thousand values; where that overflows, again in float64:
// infinite or NaN only where a value is.
template <class Storage>
double squares_of_row(const Storage* x, std::int64_t n) {
    namespace hn = hwy::HWY_NAMESPACE;
    const FloatTag f;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    FloatVec a = hn::Zero(f), b = a, c = a, d = a;
    std::int64_t j = 0;
    for (; j + 4 * lanes <= n; j += 4 * lanes) {
        const FloatVec p = load_float(f, x + j), q = load_float(f, x + j + lanes);
        const FloatVec r = load_float(f, x + j + 2 * lanes), s = load_float(f, x + j + 3 * lanes);
        a = hn::MulAdd(p, p, a);
        b = hn::MulAdd(q, q, b);
        c = hn::MulAdd(r, r, c);
        d = hn::MulAdd(s, s, d);
    }
    double sum = hn::GetLane(hn::SumOfLanes(f, hn::Add(hn::Add(a, b), hn::Add(c, d))));
    for (; j < n; ++j) sum += static_cast<double>(x[j]) * static_cast<double>(x[j]);
    if (std::isfinite(sum)) return sum;
    sum = 0.0;
    for (std::int64_t k = 0; k < n; ++k) sum += static_cast<double>(x[k]) * static_cast<double>(x[k]);
    return sum;
}

// function(row) with the row as what it is a row of: float32, bfloat16 or float16.
template <class Function>
auto with_storage(at::ScalarType type, const void* row, const Function& function) {
    if (type == at::kFloat) return function(static_cast<const float*>(row));
    if (type == at::kHalf) return function(static_cast<const c10::Half*>(row));
    return function(static_cast<const c10::BFloat16*>(row));
}

// The three of them for rows of whatever type, as a table of kernels holds them.
inline RowFunctions row_functions() {
    return {[](at::ScalarType type, const void* x, std::int64_t n) {
                return with_storage(type, x, [=](const auto* row) { return squares_of_row(row, n); });
            },
            [](at::ScalarType type, const void* from, std::int64_t n, float* to) {
                with_storage(type, from, [=](const auto* row) { floats_of_row(row, n, to); });
            },
            [](const float* from, std::int64_t n, at::ScalarType type, void* to) {
                with_storage(type, to, [=](const auto* row) {
                    row_of_floats(from, n, const_cast<std::remove_cvref_t<decltype(*row)>*>(row));
                });
            }};
}

}  // namespace switchyard::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
