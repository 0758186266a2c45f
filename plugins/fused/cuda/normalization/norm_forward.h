// norm(residual + dropout(x + bias)): one read, one write. The row stays in registers up to 32 values a
// thread; what is beyond that is read again.
//
// Two passes over the registers: one would lose digits where the mean is large (Chan, Golub & LeVeque 1983,
// Algorithms for computing the sample variance).
#pragma once

#include "norm_rows.h"

namespace switchyard::fused_cuda {

template <class T, int kWarps>
struct NormForwardKernel {
    static constexpr int threads = norm_threads;
    static constexpr int kept_vectors = 4;
    using Threads = RowThreads<kWarps>;

    NormCall c;

    // body(column, values) for what is kept, then for the rest, which `load` brings.
    template <class Load, class Body>
    __device__ __forceinline__ void over(float (&kept)[kept_vectors][8], const Load& load,
                                         const Body& body) const {
#pragma unroll
        for (int v = 0; v < kept_vectors; ++v) {
            if (v * Threads::stride < c.width) body(v, kept[v]);
        }
        for (int v = kept_vectors; v * Threads::stride < c.width; ++v) {
            float x[8];
            load(v, x);
            body(v, x);
        }
    }

    __device__ __forceinline__ Span span(std::int64_t row, int v) const {
        Span at = device::span_of(Threads::column(v), c.width, c.aligned);
        at.begin += row * c.width;
        return at;
    }
    __device__ __forceinline__ Span columns(int v) const {
        return device::span_of(Threads::column(v), c.width, c.aligned);
    }

    __device__ __forceinline__ void make_sum(std::int64_t row, const RowPlace& place, int v,
                                             float (&x)[8]) const {
        const Span at = span(row, v);
        float other[8];
        device::load8(static_cast<const T*>(c.x), at, x);
        if (c.sum == nullptr) return;
        if (c.bias.data != nullptr) {
            load_vector(c.bias, columns(v), other);
#pragma unroll
            for (int i = 0; i < 8; ++i) x[i] += other[i];
        }
        if (c.dropout.threshold != 0) drop8(c.dropout, place, Threads::base(v), x);
        if (c.residual != nullptr) {
            device::load8(static_cast<const T*>(c.residual), at, other);
#pragma unroll
            for (int i = 0; i < 8; ++i) x[i] = device::add(x[i], other[i]);
        }
        device::store8(x, static_cast<T*>(c.sum), at);
        round_to_storage<T>(x);
    }

    __device__ __forceinline__ void normalize(std::int64_t row, int v, const float (&x)[8],
                                              const RowStatistics& found) const {
        float weight[8], beta[8] = {}, y[8];
        load_vector(c.weight, columns(v), weight);
        if (c.beta.data != nullptr) load_vector(c.beta, columns(v), beta);
#pragma unroll
        for (int i = 0; i < 8; ++i)
            y[i] = device::fused(device::multiply(device::add(x[i], -found.mean), found.rstd), weight[i],
                                 beta[i]);
        device::store8(y, static_cast<T*>(c.y), span(row, v));
    }

    __device__ __forceinline__ void one_row(std::int64_t row, RowSum<kWarps>& row_sum) const {
        const RowPlace place = place_of(c.dropout, row);
        const auto again = [&](int v, float(&x)[8]) {
            device::load8(static_cast<const T*>(c.sum == nullptr ? c.x : c.sum), span(row, v), x);
        };
        float kept[kept_vectors][8];
        float sum = 0.0F, squares = 0.0F;
        const auto take = [&](int v, float(&x)[8]) {
            make_sum(row, place, v, x);
#pragma unroll
            for (int i = 0; i < 8; ++i) sum += x[i];
        };
        over(
            kept, [](int, float(&)[8]) {}, take);
        const float count = static_cast<float>(c.width);
        RowStatistics found;
        if (c.centered) found.mean = device::quotient(row_sum(sum), count);
        over(kept, again, [&](int v, float(&x)[8]) {
            const int real = columns(v).count;
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const float off = i < real ? device::add(x[i], -found.mean) : 0.0F;
                squares = device::fused(off, off, squares);
            }
        });
        const float variance = device::quotient(row_sum(squares), count);
        found.rstd = device::quotient(1.0F, device::root(variance + c.eps));
        if (c.statistics != nullptr && Threads::leads()) c.statistics[row] = found;
        over(kept, again, [&](int v, float(&x)[8]) { normalize(row, v, x, found); });
    }

    __device__ __forceinline__ void operator()(unsigned char* shared) const {
        RowSum<kWarps> row_sum(shared);
        for (std::int64_t row = Threads::first_row(); row < c.rows; row += Threads::row_step())
            one_row(row, row_sum);
    }
};

}  // namespace switchyard::fused_cuda
