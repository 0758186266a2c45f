// A warp takes a row. Each of its lanes reads packs of 16 bytes, 32 packs apart, so that the warp reads whole
// lines of memory; where rows do not begin at multiples of 16 bytes it reads value by value. Rows of up to
// 32 * held packs stay in registers: then memory is read once and written once, which is all that a
// normalization costs. Longer rows are read three times, from the cache for the most part.
//
// Statistics are float32, in two passes: first the mean, then the squares around it.
#include "warp_norm_kernel.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace {

constexpr int lanes = 32, warps = 8;

template <class T, int size>
struct alignas(sizeof(T) * size < 16 ? sizeof(T) * size : 16) Pack {
    T values[size];
};

__device__ float wide(float value) { return value; }
__device__ float wide(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ float wide(__half value) { return __half2float(value); }

template <class T>
__device__ T rounded(float value);
template <>
__device__ float rounded<float>(float value) {
    return value;
}
template <>
__device__ __nv_bfloat16 rounded<__nv_bfloat16>(float value) {
    return __float2bfloat16_rn(value);
}
template <>
__device__ __half rounded<__half>(float value) {
    return __float2half_rn(value);
}

template <int size, class T>
__device__ void read(const T* from, float (&values)[size]) {
    const auto pack = *reinterpret_cast<const Pack<T, size>*>(from);
#pragma unroll
    for (int i = 0; i < size; ++i) values[i] = wide(pack.values[i]);
}

template <int size, class T>
__device__ void write(T* to, const float (&values)[size]) {
    Pack<T, size> pack;
#pragma unroll
    for (int i = 0; i < size; ++i) pack.values[i] = rounded<T>(values[i]);
    *reinterpret_cast<Pack<T, size>*>(to) = pack;
}

// The sum over the warp, in every lane and in the same order in each run.
__device__ float warp_sum(float value) {
    for (int step = lanes / 2; step > 0; step /= 2) value += __shfl_xor_sync(0xFFFFFFFFU, value, step);
    return value;
}

// One row, seen by one lane. T: of x; P: of weight and beta; size: values of a pack.
template <class T, class P, int size>
struct Row {
    const NormCall& call;
    std::int64_t first;  // of the row's values, within the tensors
    int lane;

    __device__ bool has(std::int64_t pack) const { return column(pack) < call.width; }
    __device__ std::int64_t column(std::int64_t pack) const { return (pack * lanes + lane) * size; }

    // What is normalized; of a residual the sum, rounded and written down.
    __device__ void take(std::int64_t pack, float (&values)[size]) const {
        const std::int64_t at = first + column(pack);
        read<size>(static_cast<const T*>(call.x) + at, values);
        if (call.residual == nullptr) return;
        float residual[size];
        read<size>(static_cast<const T*>(call.residual) + at, residual);
#pragma unroll
        for (int i = 0; i < size; ++i) values[i] = wide(rounded<T>(values[i] + residual[i]));
        write<size>(static_cast<T*>(call.sum) + at, values);
    }

    // The same once it was taken: this lane reads what it wrote itself.
    __device__ void again(std::int64_t pack, float (&values)[size]) const {
        const void* const from = call.residual == nullptr ? call.x : call.sum;
        read<size>(static_cast<const T*>(from) + first + column(pack), values);
    }

    __device__ void finish(std::int64_t pack, float (&values)[size], float mean, float scale) const {
        float weight[size], beta[size] = {};
        read<size>(static_cast<const P*>(call.weight) + column(pack), weight);
        if (call.beta != nullptr) read<size>(static_cast<const P*>(call.beta) + column(pack), beta);
#pragma unroll
        for (int i = 0; i < size; ++i) values[i] = (values[i] - mean) * scale * weight[i] + beta[i];
        write<size>(static_cast<T*>(call.y) + first + column(pack), values);
    }
};

template <int size>
__device__ float sum_of(const float (&values)[size]) {
    float sum = 0.0F;
#pragma unroll
    for (int i = 0; i < size; ++i) sum += values[i];
    return sum;
}

template <int size>
__device__ float squares_of(const float (&values)[size], float mean) {
    float sum = 0.0F;
#pragma unroll
    for (int i = 0; i < size; ++i) sum += (values[i] - mean) * (values[i] - mean);
    return sum;
}

// held: packs that a lane keeps in registers; 0: rows may be of any width.
template <class T, class P, int size, int held>
__global__ void __launch_bounds__(lanes* warps) norm_kernel(const NormCall call) {
    const int lane = threadIdx.x % lanes;
    const float width = static_cast<float>(call.width);
    // A grid has fewer warps than there may be rows, and 64 bits hold where a row begins.
    for (std::int64_t r = std::int64_t{blockIdx.x} * warps + threadIdx.x / lanes; r < call.rows;
         r += std::int64_t{gridDim.x} * warps) {
        const Row<T, P, size> row{call, r * call.width, lane};
        float mean = 0.0F, squares = 0.0F;
        if constexpr (held > 0) {
            float values[held][size];
#pragma unroll
            for (int pack = 0; pack < held; ++pack) {
                if (!row.has(pack)) break;
                row.take(pack, values[pack]);
                mean += sum_of(values[pack]);
            }
            mean = call.centered ? warp_sum(mean) / width : 0.0F;
#pragma unroll
            for (int pack = 0; pack < held; ++pack) {
                if (!row.has(pack)) break;
                squares += squares_of(values[pack], mean);
            }
            const float scale = 1.0F / sqrtf(warp_sum(squares) / width + call.eps);
#pragma unroll
            for (int pack = 0; pack < held; ++pack) {
                if (!row.has(pack)) break;
                row.finish(pack, values[pack], mean, scale);
            }
        } else {
            float values[size];
            for (std::int64_t pack = 0; row.has(pack); ++pack) {
                row.take(pack, values);
                mean += sum_of(values);
            }
            mean = call.centered ? warp_sum(mean) / width : 0.0F;
            for (std::int64_t pack = 0; row.has(pack); ++pack) {
                row.again(pack, values);
                squares += squares_of(values, mean);
            }
            const float scale = 1.0F / sqrtf(warp_sum(squares) / width + call.eps);
            for (std::int64_t pack = 0; row.has(pack); ++pack) {
                row.again(pack, values);
                row.finish(pack, values, mean, scale);
            }
        }
    }
}

template <class T, class P, int size, int held>
void start(const NormCall& call, cudaStream_t stream) {
    const std::int64_t blocks = std::min<std::int64_t>((call.rows + warps - 1) / warps, 1 << 20);
    norm_kernel<T, P, size, held><<<static_cast<unsigned>(blocks), lanes * warps, 0, stream>>>(call);
}

// Up to 32 values a lane in registers: rows of up to 1024.
template <class T, class P, int size>
void start_width(const NormCall& call, cudaStream_t stream) {
    constexpr int held = 32 / size;
    if (call.width <= std::int64_t{lanes} * 32)
        start<T, P, size, held>(call, stream);
    else
        start<T, P, size, 0>(call, stream);
}

bool aligned(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % 16 == 0; }

template <class T, class P>
void start_type(const NormCall& call, cudaStream_t stream) {
    constexpr int size = 16 / sizeof(T);
    const bool packs = call.width % size == 0 && aligned(call.x) && aligned(call.residual) &&
                       aligned(call.weight) && aligned(call.beta) && aligned(call.y) && aligned(call.sum);
    if (packs)
        start_width<T, P, size>(call, stream);
    else
        start_width<T, P, 1>(call, stream);
}

template <class T>
void start_parameters(const NormCall& call, cudaStream_t stream) {
    if (call.parameters_in_float32)
        start_type<T, float>(call, stream);
    else
        start_type<T, T>(call, stream);
}

}  // namespace

void launch_warp_norm(const NormCall& call, void* stream) {
    if (call.rows == 0 || call.width == 0) return;
    const auto in = static_cast<cudaStream_t>(stream);
    switch (call.type) {
        case NormType::float32:
            start_type<float, float>(call, in);
            break;
        case NormType::bfloat16:
            start_parameters<__nv_bfloat16>(call, in);
            break;
        case NormType::float16:
            start_parameters<__half>(call, in);
            break;
    }
    if (const auto error = cudaGetLastError(); error != cudaSuccess)
        throw std::runtime_error(std::string("warp_norm: the kernel was not started: ") +
                                 cudaGetErrorString(error));
}
