// Backward of norm(residual + dropout(x + bias)). A persistent grid: blocks go over the rows and keep the
// sums of the parameters' gradients in registers, each block leaves one part, and a second launch adds the
// parts up in order. Columns past what registers hold are summed in the block's part itself, always by the
// same thread.
#pragma once

#include "norm_rows.h"

namespace switchyard::fused_cuda {

template <class T, int kWarps>
struct NormBackwardKernel {
    static constexpr int threads = norm_threads;
    static constexpr int kept_vectors = kWarps == 1 ? 4 : 2;
    static constexpr int sum_kinds = 3;
    using Threads = RowThreads<kWarps>;

    struct Eight {
        float x_hat[8], g[8];
    };
    struct Sums {
        float weight[8] = {}, beta[8] = {}, bias[8] = {};
    };
    struct Row {
        std::int64_t number = 0;
        bool first = false;  // of this thread
        RowStatistics statistics;
        float mean_g = 0.0F, mean_g_x_hat = 0.0F;
        RowPlace place;
    };

    NormCall c;

    __device__ __forceinline__ Span columns(int v) const {
        return device::span_of(Threads::column(v), c.width, c.aligned);
    }
    __device__ __forceinline__ Span span(std::int64_t row, int v) const {
        Span at = columns(v);
        at.begin += row * c.width;
        return at;
    }

    // x_hat, and the gradient times the weight. Zeros past the end.
    __device__ __forceinline__ void load(const Row& row, int v, float (&dy)[8], Eight& e) const {
        const Span at = span(row.number, v);
        float weight[8];
        device::load8(static_cast<const T*>(c.normed), at, e.x_hat);
        device::load8(static_cast<const T*>(c.grad_y), at, dy);
        load_vector(c.weight, columns(v), weight);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            e.x_hat[i] = device::multiply(device::add(e.x_hat[i], -row.statistics.mean), row.statistics.rstd);
            e.g[i] = device::multiply(dy[i], weight[i]);
        }
    }

    __device__ __forceinline__ void write(const Row& row, int v, const Eight& e, Sums& sums) const {
        const Span at = span(row.number, v);
        float d[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            d[i] = device::multiply(
                device::fused(-e.x_hat[i], row.mean_g_x_hat, device::add(e.g[i], -row.mean_g)),
                row.statistics.rstd);
        }
        if (c.grad_sum != nullptr) {
            float other[8];
            device::load8(static_cast<const T*>(c.grad_sum), at, other);
#pragma unroll
            for (int i = 0; i < 8; ++i) d[i] = device::add(d[i], other[i]);
        }
        if (c.grad_residual != nullptr) device::store8(d, static_cast<T*>(c.grad_residual), at);
        if (c.dropout.threshold != 0) drop8(c.dropout, row.place, Threads::base(v), d);
        if (c.grad_x != nullptr) device::store8(d, static_cast<T*>(c.grad_x), at);
#pragma unroll
        for (int i = 0; i < 8; ++i) sums.bias[i] += d[i];
    }

    __device__ __forceinline__ static void take(const float (&dy)[8], const Eight& e, Sums& sums) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            sums.weight[i] = device::fused(dy[i], e.x_hat[i], sums.weight[i]);
            sums.beta[i] += dy[i];
        }
    }

    __device__ __forceinline__ float* part(int place) const {
        return c.parts + (static_cast<std::int64_t>(device::block()) * c.vectors + place) * c.width;
    }
    // To one kind's place in the block's part, or added to what is there.
    __device__ __forceinline__ void put(int place, int v, const float (&sum)[8], bool add) const {
        if (place < 0) return;
        const Span at = columns(v);
        float* const to = part(place) + at.begin;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            if (i < at.count) to[i] = add ? to[i] + sum[i] : sum[i];
        }
    }

    __device__ __forceinline__ void one_row(Row& row, RowSum<kWarps>& row_sum,
                                            Sums (&sums)[kept_vectors]) const {
        Eight kept[kept_vectors];
        float dy[8], of_g = 0.0F, of_g_x_hat = 0.0F;
        const auto add_up = [&](const Eight& e) {
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                of_g += e.g[i];
                of_g_x_hat = device::fused(e.g[i], e.x_hat[i], of_g_x_hat);
            }
        };
#pragma unroll
        for (int v = 0; v < kept_vectors; ++v) {
            if (v * Threads::stride >= c.width) continue;
            load(row, v, dy, kept[v]);
            take(dy, kept[v], sums[v]);
            add_up(kept[v]);
        }
        for (int v = kept_vectors; v * Threads::stride < c.width; ++v) {
            Eight e;
            Sums more;
            load(row, v, dy, e);
            take(dy, e, more);
            add_up(e);
            put(c.weight_sums, v, more.weight, !row.first);
            put(c.beta_sums, v, more.beta, !row.first);
        }
        const float count = static_cast<float>(c.width);
        if (c.centered) row.mean_g = device::quotient(row_sum(of_g), count);
        row.mean_g_x_hat = device::quotient(row_sum(of_g_x_hat), count);
        if (c.grad_residual == nullptr && c.grad_x == nullptr && c.bias_sums < 0) return;
#pragma unroll
        for (int v = 0; v < kept_vectors; ++v) {
            if (v * Threads::stride < c.width) write(row, v, kept[v], sums[v]);
        }
        for (int v = kept_vectors; v * Threads::stride < c.width; ++v) {
            Eight e;
            Sums more;
            load(row, v, dy, e);
            write(row, v, e, more);
            put(c.bias_sums, v, more.bias, !row.first);
        }
    }

    // A block of one row at a time: every thread has its own columns.
    __device__ __forceinline__ void leave_sums(const Sums (&sums)[kept_vectors]) const {
#pragma unroll
        for (int v = 0; v < kept_vectors; ++v) {
            if (v * Threads::stride >= c.width) continue;
            put(c.weight_sums, v, sums[v].weight, false);
            put(c.beta_sums, v, sums[v].beta, false);
            put(c.bias_sums, v, sums[v].bias, false);
        }
    }

    __device__ __forceinline__ static void add_to(float* to, const Span& at, const float (&sum)[8],
                                                  bool add) {
        float* const own = to + at.begin;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            if (i < at.count) own[i] = add ? own[i] + sum[i] : sum[i];
        }
    }

    // Eight rows at a time: the warps' sums are added in the order of the warps.
    __device__ __forceinline__ void leave_joined_sums(const Sums (&sums)[kept_vectors], float* shared) const {
        for (int w = 0; w < threads / 32; ++w) {
            device::sync_block();
            if (device::warp() != w) continue;
#pragma unroll
            for (int v = 0; v < kept_vectors; ++v) {
                if (v * Threads::stride >= c.width) continue;
                const Span at = columns(v);
                add_to(shared, at, sums[v].weight, w > 0);
                add_to(shared + c.width, at, sums[v].beta, w > 0);
                add_to(shared + 2 * c.width, at, sums[v].bias, w > 0);
            }
        }
        device::sync_block();
        const int places[sum_kinds] = {c.weight_sums, c.beta_sums, c.bias_sums};
#pragma unroll
        for (int kind = 0; kind < sum_kinds; ++kind) {
            if (places[kind] < 0) continue;
            for (std::int64_t j = device::thread(); j < c.width; j += threads)
                part(places[kind])[j] = shared[kind * c.width + j];
        }
    }

    __device__ __forceinline__ void operator()(unsigned char* shared) const {
        RowSum<kWarps> row_sum(shared);
        Sums sums[kept_vectors];
        Row row;
        row.first = true;
        for (row.number = Threads::first_row(); row.number < c.rows; row.number += Threads::row_step()) {
            row.statistics = c.statistics[row.number];
            row.place = place_of(c.dropout, row.number);
            one_row(row, row_sum, sums);
            row.first = false;
        }
        if (c.vectors == 0) return;
        if constexpr (kWarps == 1) {
            leave_joined_sums(sums, reinterpret_cast<float*>(shared + row_sum_bytes));
        } else {
            leave_sums(sums);
        }
    }
};

}  // namespace switchyard::fused_cuda
