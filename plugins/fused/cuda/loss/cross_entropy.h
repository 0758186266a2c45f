// Rows of logits: the online log-sum-exp (Milakov & Gimelshein 2018, arXiv:1805.02867), each thread its own
// and all joined at the end, and the gradient of cross-entropy. A block a row.
#pragma once

#include <switchyard/sdk/cuda/device_rows.h>

#include "loss_launch.h"

namespace switchyard::fused_cuda {

using device::fused;
using device::multiply;
using device::Span;

constexpr float log2_e = 1.4426950408889634F;
__device__ __forceinline__ float minus_infinity() { return device::bits_to_float(0xFF800000U); }

template <class T>
struct LossRow {
    static constexpr int threads = loss_threads;
    static constexpr int warps = threads / 32;

    LossCall c;

    // Vector k of a row whose length is no multiple of eight: the first ends where addresses of 16 bytes
    // begin.
    __device__ __forceinline__ Span vector(std::int64_t start, std::int64_t k) const {
        const std::int64_t off = start % 8, first = k == 0 ? 0 : 8 * k - off;
        const std::int64_t end = 8 * (k + 1) - off;
        Span at = device::span_of(first, end < c.n ? end : c.n, c.aligned);
        at.begin += start;
        return at;
    }
    __device__ __forceinline__ std::int64_t vectors(std::int64_t start) const {
        return (c.n + start % 8 + 7) / 8;
    }
};

template <class T>
struct SummaryKernel : LossRow<T> {
    using Base = LossRow<T>;
    using Base::c;

    __device__ __forceinline__ static void take(const float (&x)[8], int count, RowSummary& row) {
        float top = row.top;
#pragma unroll
        for (int i = 0; i < 8; ++i) top = i < count ? fmaxf(top, x[i]) : top;
#pragma unroll
        for (int i = 0; i < 8; ++i) row.sum += x[i];
        if (top == minus_infinity()) return;
        float total = 0.0F;
#pragma unroll
        for (int i = 0; i < 8; ++i)
            total += i < count ? device::exp2(multiply(device::add(x[i], -top), log2_e)) : 0.0F;
        row.total = fused(row.total, scaled(row.top, top), total);
        row.top = top;
    }
    // e^(from - to); 0 from -infinity.
    __device__ __forceinline__ static float scaled(float from, float to) {
        return from == minus_infinity() ? 0.0F : device::exp2(multiply(device::add(from, -to), log2_e));
    }

    // All threads' into one, the same in all of them.
    __device__ __forceinline__ static void join(RowSummary& row, float* shared) {
        float top = device::warp_max(row.top);
        if (device::lane() == 0) shared[device::warp()] = top;
        device::sync_block();
        for (int i = 0; i < Base::warps; ++i) top = fmaxf(top, shared[i]);
        row.total = device::block_sum<Base::warps>(multiply(row.total, scaled(row.top, top)), shared + 8);
        row.sum = device::block_sum<Base::warps>(row.sum, shared + 16);
        row.top = top;
    }

    __device__ __forceinline__ void finish(std::int64_t row, const RowSummary& found) const {
        const float lse = found.top + logf(found.total);
        const float classes = static_cast<float>(c.classes);
        float loss = multiply(1.0F - c.smoothing, lse - found.chosen);
        if (c.smoothing > 0.0F) loss += multiply(c.smoothing, lse - found.sum / classes);
        c.log_sum_exp[row] = lse;
        c.losses[row] = fused(multiply(c.z_loss, lse), lse, loss);
    }

    __device__ __forceinline__ void operator()(unsigned char* shared) const {
        const std::int64_t row = device::block(), start = row * c.n, target = c.targets[row];
        if (target == c.ignore_index) {
            if (device::thread() != 0 || !c.ends) return;
            c.log_sum_exp[row] = c.losses[row] = 0.0F;
            return;
        }
        RowSummary found;
        found.top = minus_infinity();
        for (std::int64_t k = device::thread(); k < this->vectors(start); k += Base::threads) {
            const Span at = this->vector(start, k);
            float x[8];
            device::load8(static_cast<const T*>(c.logits), at, x);
            take(x, at.count, found);
        }
        join(found, reinterpret_cast<float*>(shared));
        if (device::thread() != 0) return;
        const std::int64_t here = target - c.first_class;
        if (here >= 0 && here < c.n)
            found.chosen = device::load_one(static_cast<const T*>(c.logits) + start + here);
        if (!c.begins) {
            const RowSummary before = c.summaries[row];
            const float top = fmaxf(found.top, before.top);
            found.total = multiply(found.total, scaled(found.top, top)) +
                          multiply(before.total, scaled(before.top, top));
            found.top = top;
            found.sum += before.sum;
            found.chosen += before.chosen;
        }
        if (c.ends) return finish(row, found);
        c.summaries[row] = found;
    }
};

template <class T>
struct GradientKernel : LossRow<T> {
    using Base = LossRow<T>;
    using Base::c;

    __device__ __forceinline__ void operator()(unsigned char*) const {
        const std::int64_t row = device::block(), start = row * c.n, target = c.targets[row];
        const bool counts = target != c.ignore_index;
        const float lse = counts ? c.known_log_sum_exp[row] : 0.0F;
        const float scale = counts ? c.scale[c.scale_of_each ? row : 0] : 0.0F;
        const float factor = multiply(scale, fused(multiply(2.0F, c.z_loss), lse, 1.0F));
        const float constant = multiply(scale, c.smoothing / static_cast<float>(c.classes));
        const float less = multiply(scale, 1.0F - c.smoothing);
        const std::int64_t here =
            start + target - c.first_class;  // of the target, if it is in this row's part
        for (std::int64_t k = device::thread(); k < this->vectors(start); k += Base::threads) {
            const Span at = this->vector(start, k);
            float x[8];
            device::load8(static_cast<const T*>(c.logits), at, x);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const float softmax = device::exp2(multiply(device::add(x[i], -lse), log2_e));
                const float d = fused(softmax, factor, -constant);
                x[i] = !counts ? 0.0F : at.begin + i == here ? d - less : d;
            }
            device::store8(x, static_cast<T*>(c.out), at);
        }
    }
};

// One block, rows in a fixed order.
struct LossSumKernel {
    static constexpr int threads = loss_threads;
    static constexpr int warps = threads / 32;

    LossSum c;

    __device__ __forceinline__ void operator()(unsigned char* shared) const {
        auto* const places = reinterpret_cast<double*>(shared);
        double sum = 0.0, count = 0.0;
        for (std::int64_t row = device::thread(); row < c.rows; row += threads) {
            if (c.targets[row] == c.ignore_index) continue;
            sum += static_cast<double>(c.losses[row]);
            count += 1.0;
        }
        sum = device::block_sum<warps>(sum, places);
        count = device::block_sum<warps>(count, places + warps);
        if (device::thread() != 0) return;
        *c.count = static_cast<std::int64_t>(count);
        if (c.loss == nullptr) return;
        const double rows = c.mean && count > 1.0 ? count : 1.0;
        *c.loss = static_cast<float>(sum / (rows * c.divisor));
    }
};

}  // namespace switchyard::fused_cuda
