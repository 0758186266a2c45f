// The device layer (device.h says what each does) in CUDA, for 8.0 and newer.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <switchyard/sdk/cuda/device_launch.h>

namespace switchyard::device {

struct alignas(16) Words {
    std::uint32_t word[4];
};

__device__ __forceinline__ int thread() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int block() { return static_cast<int>(blockIdx.x); }
__device__ __forceinline__ int blocks() { return static_cast<int>(gridDim.x); }
__device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x & 31U); }
__device__ __forceinline__ int warp() { return static_cast<int>(threadIdx.x >> 5U); }

__device__ __forceinline__ void sync_block() { __syncthreads(); }
__device__ __forceinline__ void sync_warp() { __syncwarp(); }
template <class T>
__device__ __forceinline__ T shuffle_xor(T value, int mask) {
    return __shfl_xor_sync(0xFFFFFFFFU, value, mask);
}

__device__ __forceinline__ Words load16(const void* place) {
    const uint4 read = *static_cast<const uint4*>(place);
    return {{read.x, read.y, read.z, read.w}};
}
__device__ __forceinline__ void store16(void* place, const Words& words) {
    *static_cast<uint4*>(place) = make_uint4(words.word[0], words.word[1], words.word[2], words.word[3]);
}

// Past the first cache, which is not coherent between multiprocessors.
template <class T>
__device__ __forceinline__ T fresh(const T* place) {
    return __ldcg(place);
}

// The pattern of threadFenceReduction (CUDA samples): what a block has written is seen by whoever sees its
// ticket.
__device__ __forceinline__ bool last_block(unsigned* tickets, unsigned* shared) {
    __threadfence();
    __syncthreads();
    if (thread() == 0) *shared = atomicAdd(tickets, 1U);
    __syncthreads();
    const bool last = *shared + 1U == gridDim.x;
    if (last) __threadfence();
    return last;
}

__device__ __forceinline__ float multiply(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ float add(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ float root(float x) { return __fsqrt_rn(x); }
__device__ __forceinline__ float quotient(float a, float b) { return __fdiv_rn(a, b); }

// The first source operand of cvt goes to the upper half (PTX ISA 8.7, section 9.7.9.21).
template <class T>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
    std::uint32_t pair = 0;
    if constexpr (std::is_same_v<T, Bf16>) {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    } else {
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    }
    return pair;
}
template <class T>
__device__ __forceinline__ void unpack(std::uint32_t pair, float& low, float& high) {
    if constexpr (std::is_same_v<T, Bf16>) {
        low = __uint_as_float(pair << 16U);
        high = __uint_as_float(pair & 0xFFFF0000U);
    } else {
        asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}"
            : "=f"(low), "=f"(high)
            : "r"(pair));
    }
}

// ex2.approx gives 0 for -infinity and is off by 2 units in the last place at most (section 9.7.3).
__device__ __forceinline__ float exp2(float x) {
    float y = 0.0F;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads) run(const __grid_constant__ Kernel kernel) {
    extern __shared__ __align__(128) unsigned char shared[];
    kernel(shared);
}

inline void check(cudaError_t status, const char* what, const char* who) {
    if (status == cudaSuccess) return;
    throw std::runtime_error(std::string(who) + ": " + what + ": " + cudaGetErrorString(status));
}

// `who` begins what an error says.
template <class Kernel>
void launch(const Kernel& kernel, const Launch& geometry, void* stream, const char* who = "cuda kernel") {
    if (geometry.blocks == 0) return;
    // More has to be asked for (CUDA C++ Programming Guide, dynamic shared memory).
    if (geometry.shared_bytes > 48U * 1024U) {
        check(cudaFuncSetAttribute(run<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(geometry.shared_bytes)),
              "asking for shared memory", who);
    }
    run<Kernel><<<static_cast<unsigned>(geometry.blocks), geometry.threads, geometry.shared_bytes,
                  static_cast<cudaStream_t>(stream)>>>(kernel);
    check(cudaGetLastError(), "launch", who);
}

}  // namespace switchyard::device
