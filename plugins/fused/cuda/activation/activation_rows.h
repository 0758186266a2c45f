// dropout(act(x + bias)), plain and gated, and its backward. A warp takes 256 columns of every so many rows,
// so its bias is read once and the bias' gradient is a sum in its registers; the warps' sums are added in
// order by a second launch.
#pragma once

#include "cuda/common/draw.h"
#include "curves.h"

namespace switchyard::fused_cuda {

using device::Span;

template <class T>
struct ActivationKernel {
    static constexpr int threads = activation_threads;

    ActivationCall c;

    // Where a warp works: its columns of y and, from there, of x.
    struct Tile {
        std::int64_t base = 0, first_row = 0;
        Span columns;
        float bias[8] = {}, gate_bias[8] = {};
    };

    __device__ __forceinline__ std::int64_t x_width() const { return c.gated ? 2 * c.width : c.width; }
    __device__ __forceinline__ static Span moved(Span at, std::int64_t by) {
        at.begin += by;
        return at;
    }

    // False: nothing is left for this warp.
    __device__ __forceinline__ bool find(Tile& tile) const {
        const std::int64_t tiles = (c.width + 255) / 256;
        const std::int64_t number =
            static_cast<std::int64_t>(device::block()) * (threads / 32) + device::warp();
        tile.base = number % tiles * 256;
        tile.first_row = number / tiles;
        tile.columns = device::span_of(tile.base + 8 * device::lane(), c.width, c.aligned);
        if (c.bias.data != nullptr) {
            device::load8(c.bias.type, c.bias.data, tile.columns, tile.bias);
            if (c.gated)
                device::load8(c.bias.type, c.bias.data, moved(tile.columns, c.width), tile.gate_bias);
        }
        return tile.first_row < c.parts;
    }

    __device__ __forceinline__ static void add_to(float (&x)[8], const float (&more)[8]) {
#pragma unroll
        for (int i = 0; i < 8; ++i) x[i] = device::add(x[i], more[i]);
    }

    __device__ __forceinline__ void load_biased(const Tile& tile, std::int64_t row, float (&x)[8],
                                                float (&gate)[8]) const {
        const Span at = moved(tile.columns, row * x_width());
        device::load8(static_cast<const T*>(c.x), at, x);
        if (c.bias.data != nullptr) add_to(x, tile.bias);
        if (!c.gated) return;
        device::load8(static_cast<const T*>(c.x), moved(at, c.width), gate);
        if (c.bias.data != nullptr) add_to(gate, tile.gate_bias);
    }
};

template <class T>
struct ActivationForwardKernel : ActivationKernel<T> {
    using Base = ActivationKernel<T>;
    using Base::c;

    __device__ __forceinline__ void operator()(unsigned char*) const {
        typename Base::Tile tile;
        if (!this->find(tile)) return;
        for (std::int64_t row = tile.first_row; row < c.rows; row += c.parts) {
            float x[8], gate[8] = {}, y[8];
            this->load_biased(tile, row, x, gate);
            on_curve(c.curve, x, [&](int i, const Point& at) { y[i] = at.value; });
            if (c.gated) {
#pragma unroll
                for (int i = 0; i < 8; ++i) y[i] = multiply(y[i], gate[i]);
            }
            if (c.dropout.threshold != 0) drop8(c.dropout, place_of(c.dropout, row), tile.base, y);
            device::store8(y, static_cast<T*>(c.y), Base::moved(tile.columns, row * c.width));
        }
    }
};

template <class T>
struct ActivationBackwardKernel : ActivationKernel<T> {
    using Base = ActivationKernel<T>;
    using Base::c;

    __device__ __forceinline__ void put(const Span& at, const float (&gradient)[8], float (&sum)[8]) const {
        if (c.grad_x != nullptr) device::store8(gradient, static_cast<T*>(c.grad_x), at);
#pragma unroll
        for (int i = 0; i < 8; ++i) sum[i] += gradient[i];
    }

    // What was positive has been kept, so the result says all.
    __device__ __forceinline__ void one_relu(const typename Base::Tile& tile, std::int64_t row,
                                             float (&sum)[8]) const {
        const Span at = Base::moved(tile.columns, row * c.width);
        float y[8], d[8];
        device::load8(static_cast<const T*>(c.x), at, y);
        device::load8(static_cast<const T*>(c.grad_y), at, d);
#pragma unroll
        for (int i = 0; i < 8; ++i) d[i] = y[i] <= 0.0F ? 0.0F : multiply(d[i], c.dropout.keep_scale);
        put(at, d, sum);
    }

    __device__ __forceinline__ void one_row(const typename Base::Tile& tile, std::int64_t row,
                                            float (&sum)[8], float (&gate_sum)[8]) const {
        float x[8], gate[8] = {}, d[8], of_gate[8];
        this->load_biased(tile, row, x, gate);
        device::load8(static_cast<const T*>(c.grad_y), Base::moved(tile.columns, row * c.width), d);
        if (c.dropout.threshold != 0) drop8(c.dropout, place_of(c.dropout, row), tile.base, d);
        const bool gated = c.gated;
        on_curve(c.curve, x, [&](int i, const Point& at) {
            of_gate[i] = multiply(d[i], at.value);
            d[i] = multiply(gated ? multiply(d[i], gate[i]) : d[i], at.slope);
        });
        const Span at = Base::moved(tile.columns, row * this->x_width());
        put(at, d, sum);
        if (gated) put(Base::moved(at, c.width), of_gate, gate_sum);
    }

    __device__ __forceinline__ void operator()(unsigned char*) const {
        typename Base::Tile tile;
        if (!this->find(tile)) return;
        float sum[8] = {}, gate_sum[8] = {};
        for (std::int64_t row = tile.first_row; row < c.rows; row += c.parts)
            c.by_result ? one_relu(tile, row, sum) : one_row(tile, row, sum, gate_sum);
        if (c.bias_parts == nullptr) return;
        float* const part = c.bias_parts + tile.first_row * this->x_width() + tile.columns.begin;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            if (i >= tile.columns.count) continue;
            part[i] = sum[i];
            if (c.gated) part[c.width + i] = gate_sum[i];
        }
    }
};

}  // namespace switchyard::fused_cuda
