// A row in the registers of a warp or of a block, eight values a thread at a time.
#pragma once

#include "cuda/common/draw.h"
#include "norm_launch.h"

namespace switchyard::fused_cuda {

using device::Span;

__device__ __forceinline__ void load_vector(const Vector& from, const Span& at, float (&x)[8]) {
    device::load8(from.type, from.data, at, x);
}

// As it is stored.
template <class T>
__device__ __forceinline__ void round_to_storage(float (&x)[8]) {
#pragma unroll
    for (int i = 0; i < 8; i += 2) device::unpack<T>(device::pack<T>(x[i], x[i + 1]), x[i], x[i + 1]);
}
template <>
__device__ __forceinline__ void round_to_storage<float>(float (&)[8]) {}

// Sums over a row. Two places take turns, so that one barrier a sum is enough.
template <int kWarps>
class RowSum {
public:
    __device__ __forceinline__ explicit RowSum(unsigned char* shared)
        : places_(reinterpret_cast<float*>(shared)) {}
    __device__ __forceinline__ float operator()(float value) {
        turn_ ^= 1;
        return device::block_sum<kWarps>(value, places_ + 32 * turn_);
    }

private:
    float* places_;
    int turn_ = 0;
};
constexpr std::size_t row_sum_bytes = 256;

// Where the threads of a row stand. Vector v of a thread begins at column(v).
template <int kWarps>
struct RowThreads {
    static constexpr int rows_of_block = norm_threads / 32 / kWarps;
    static constexpr std::int64_t stride = 256 * kWarps;

    __device__ __forceinline__ static std::int64_t first_row() {
        return static_cast<std::int64_t>(device::block()) * rows_of_block +
               (kWarps == 1 ? device::warp() : 0);
    }
    __device__ __forceinline__ static std::int64_t row_step() {
        return static_cast<std::int64_t>(device::blocks()) * rows_of_block;
    }
    // Of a warp; a multiple of 256.
    __device__ __forceinline__ static std::int64_t base(int v) {
        return v * stride + (kWarps == 1 ? 0 : 256 * device::warp());
    }
    __device__ __forceinline__ static std::int64_t column(int v) { return base(v) + 8 * device::lane(); }
    __device__ __forceinline__ static bool leads() {
        return kWarps == 1 ? device::lane() == 0 : device::thread() == 0;
    }
};

template <template <class T, int kWarps> class Kernel>
void launch_norm_kernel(const NormCall& call, const device::Launch& geometry, void* stream) {
    device::with_storage(call.storage, [&](auto type) {
        using T = decltype(type);
        call.width <= norm_warp_width ? device::launch(Kernel<T, 1>{call}, geometry, stream)
                                      : device::launch(Kernel<T, 8>{call}, geometry, stream);
    });
}

}  // namespace switchyard::fused_cuda
