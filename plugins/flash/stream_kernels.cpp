#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stream_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include <cstdint>

#include "stream_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::flash::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;

V load(F f, const float* from) { return hn::LoadU(f, from); }
V load(F f, const c10::BFloat16* from) {
    const hn::Rebind<std::uint16_t, F> half;
    const hn::Rebind<std::uint32_t, F> whole;
    const auto bits = hn::LoadU(half, reinterpret_cast<const std::uint16_t*>(from));
    return hn::BitCast(f, hn::ShiftLeft<16>(hn::PromoteTo(whole, bits)));
}
V load(F f, const c10::Half* from) {
    const hn::Rebind<hwy::float16_t, F> half;
    return hn::PromoteTo(f, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
}

template <class Storage>
float rest_of_dot(const float* q, const Storage* row, std::int64_t from, std::int64_t d) {
    float sum = 0.0F;
    for (std::int64_t i = from; i < d; ++i) sum += q[i] * static_cast<float>(row[i]);
    return sum;
}

// Four rows at a time: their sums do not wait for each other.
template <class Storage>
void dots(const float* q, const Storage* rows, std::int64_t stride, std::int64_t n, std::int64_t d,
          float* out) {
    const F f;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    const std::int64_t whole = d / lanes * lanes;
    std::int64_t j = 0;
    for (; j + 4 <= n; j += 4) {
        const Storage* const r = rows + j * stride;
        V a = hn::Zero(f), b = a, c = a, e = a;
        for (std::int64_t i = 0; i < whole; i += lanes) {
            const V x = hn::LoadU(f, q + i);
            a = hn::MulAdd(x, load(f, r + i), a);
            b = hn::MulAdd(x, load(f, r + stride + i), b);
            c = hn::MulAdd(x, load(f, r + 2 * stride + i), c);
            e = hn::MulAdd(x, load(f, r + 3 * stride + i), e);
        }
        out[j] = hn::GetLane(hn::SumOfLanes(f, a)) + rest_of_dot(q, r, whole, d);
        out[j + 1] = hn::GetLane(hn::SumOfLanes(f, b)) + rest_of_dot(q, r + stride, whole, d);
        out[j + 2] = hn::GetLane(hn::SumOfLanes(f, c)) + rest_of_dot(q, r + 2 * stride, whole, d);
        out[j + 3] = hn::GetLane(hn::SumOfLanes(f, e)) + rest_of_dot(q, r + 3 * stride, whole, d);
    }
    for (; j < n; ++j) out[j] = rest_of_dot(q, rows + j * stride, 0, d);
}

template <class Storage>
void weighted_sum(const float* weights, const Storage* rows, std::int64_t stride, std::int64_t n,
                  std::int64_t d, float* out) {
    const F f;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    std::int64_t c = 0;
    for (; c + 4 * lanes <= d; c += 4 * lanes) {
        V sums[4] = {hn::Zero(f), hn::Zero(f), hn::Zero(f), hn::Zero(f)};
        for (std::int64_t j = 0; j < n; ++j) {
            const V w = hn::Set(f, weights[j]);
            const Storage* const row = rows + j * stride + c;
            for (int k = 0; k < 4; ++k) sums[k] = hn::MulAdd(w, load(f, row + k * lanes), sums[k]);
        }
        for (int k = 0; k < 4; ++k) hn::StoreU(sums[k], f, out + c + k * lanes);
    }
    for (; c + lanes <= d; c += lanes) {
        V sum = hn::Zero(f);
        for (std::int64_t j = 0; j < n; ++j)
            sum = hn::MulAdd(hn::Set(f, weights[j]), load(f, rows + j * stride + c), sum);
        hn::StoreU(sum, f, out + c);
    }
    for (; c < d; ++c) {
        float sum = 0.0F;
        for (std::int64_t j = 0; j < n; ++j) sum += weights[j] * static_cast<float>(rows[j * stride + c]);
        out[c] = sum;
    }
}

template <class Storage>
const StreamKernels<Storage>& kernels() {
    static constexpr StreamKernels<Storage> all{dots<Storage>, weighted_sum<Storage>};
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
