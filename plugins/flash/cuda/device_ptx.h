// The device layer (device.h says what each does) in PTX, for sm_80 and newer.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "launch_geometry.h"
#include "number.h"

namespace switchyard::flash_cuda::device {

__device__ __forceinline__ int thread() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int block() { return static_cast<int>(blockIdx.x); }
__device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x & 31U); }
__device__ __forceinline__ int warp() { return static_cast<int>(threadIdx.x >> 5U); }

__device__ __forceinline__ void sync_block() { __syncthreads(); }
__device__ __forceinline__ void sync_warp() { __syncwarp(); }
__device__ __forceinline__ bool any_lane(bool value) { return __any_sync(0xFFFFFFFFU, value) != 0; }
__device__ __forceinline__ float shuffle_xor(float value, int mask) {
    return __shfl_xor_sync(0xFFFFFFFFU, value, mask);
}

__device__ __forceinline__ std::uint32_t shared_address(const void* shared) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

__device__ __forceinline__ void load_matrices(std::uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

__device__ __forceinline__ void load_matrices_transposed(std::uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

template <class T>
__device__ __forceinline__ void mma(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    if constexpr (std::is_same_v<T, Bf16>) {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
            "%9}, "
            "{%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
}

// cp.async with a source size of 0 reads nothing and fills with zeros.
__device__ __forceinline__ void copy_async(void* shared, const void* global, bool real) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(shared)), "l"(global), "r"(real ? 16 : 0)
                 : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kLeft>
__device__ __forceinline__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

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

// ex2.approx gives 0 for -infinity and is off by 2 units in the last place at most, like lg2.approx (section 9.7.3).
__device__ __forceinline__ float exp2(float x) {
    float y = 0.0F;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ __forceinline__ float log2(float x) { return __log2f(x); }
// Off by 2^-23 at most, not relative to its size: it is taken of scores, whose exponentials only see that.
__device__ __forceinline__ float tanh(float x) {
    return 1.0F - __fdividef(2.0F, exp2(x * 2.8853900817779268F) + 1.0F);
}

__device__ __forceinline__ void atomic_add(float* place, float value) { atomicAdd(place, value); }
__device__ __forceinline__ void visit_tile(int, int, int, int) {}

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads) run(const __grid_constant__ Kernel kernel) {
    extern __shared__ __align__(128) unsigned char shared[];
    kernel(shared);
}

inline void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    throw std::runtime_error(std::string("flash attention: ") + what + ": " + cudaGetErrorString(status));
}

template <class Kernel>
void launch(const Kernel& kernel, const Launch& geometry, void* stream) {
    if (geometry.blocks == 0) return;
    if (geometry.shared_bytes >
        48U * 1024U) {  // more has to be asked for (CUDA C++ Programming Guide, dynamic shared memory)
        check(cudaFuncSetAttribute(run<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(geometry.shared_bytes)),
              "asking for shared memory");
    }
    run<Kernel><<<static_cast<unsigned>(geometry.blocks), geometry.threads, geometry.shared_bytes,
                  static_cast<cudaStream_t>(stream)>>>(kernel);
    check(cudaGetLastError(), "launch");
}

}  // namespace switchyard::flash_cuda::device
