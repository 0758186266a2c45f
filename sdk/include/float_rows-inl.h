// Rows of float32, bfloat16 and float16 in vectors of Highway: to float, back, and the sum of squares. Since 0.1.
//
// Included once for each target, as Highway's own "-inl.h" headers are, by a source that has <hwy/foreach_target.h>:
//
//     #include <hwy/highway.h>
//     #include <switchyard/sdk/float_rows-inl.h>
//     HWY_BEFORE_NAMESPACE();
//     namespace mine::HWY_NAMESPACE { ... switchyard::HWY_NAMESPACE::load_float(tag, pointer) ... }
#if defined(SWITCHYARD_SDK_FLOAT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SWITCHYARD_SDK_FLOAT_ROWS_INL_H_
#undef SWITCHYARD_SDK_FLOAT_ROWS_INL_H_
#else
#define SWITCHYARD_SDK_FLOAT_ROWS_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace switchyard::HWY_NAMESPACE {

using FloatTag = hwy::HWY_NAMESPACE::ScalableTag<float>;
using FloatVec = hwy::HWY_NAMESPACE::Vec<FloatTag>;

inline FloatVec load_float(FloatTag f, const float* from) { return hwy::HWY_NAMESPACE::LoadU(f, from); }
inline FloatVec load_float(FloatTag f, const c10::BFloat16* from) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<std::uint16_t, FloatTag> half;
    const hn::Rebind<std::uint32_t, FloatTag> whole;
    const auto bits = hn::LoadU(half, reinterpret_cast<const std::uint16_t*>(from));
    return hn::BitCast(f, hn::ShiftLeft<16>(hn::PromoteTo(whole, bits)));
}
inline FloatVec load_float(FloatTag f, const c10::Half* from) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<hwy::float16_t, FloatTag> half;
    return hn::PromoteTo(f, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
}

// To nearest, ties to even.
inline void store_float(FloatTag f, FloatVec x, float* to) { hwy::HWY_NAMESPACE::StoreU(x, f, to); }
inline void store_float(FloatTag, FloatVec x, c10::BFloat16* to) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<std::uint16_t, FloatTag> half;
    const hn::Rebind<std::uint32_t, FloatTag> u;
    const hn::Rebind<std::int32_t, FloatTag> i;
    const auto bits = hn::BitCast(u, x);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1U));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7FFFU))));
    hn::StoreU(hn::DemoteTo(half, hn::BitCast(i, rounded)), half, reinterpret_cast<std::uint16_t*>(to));
}
inline void store_float(FloatTag, FloatVec x, c10::Half* to) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Rebind<hwy::float16_t, FloatTag> half;
    hn::StoreU(hn::DemoteTo(half, x), half, reinterpret_cast<hwy::float16_t*>(to));
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

// In float32, which is enough for pieces of some ten thousand values; where that overflows, again in float64: infinite or NaN only where a value is.
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

}  // namespace switchyard::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
