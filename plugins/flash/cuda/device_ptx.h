// What device.h adds to the SDK's device layer, in PTX, for sm_80 and newer.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace switchyard::flash_cuda::device {

__device__ __forceinline__ bool any_lane(bool value) { return __any_sync(0xFFFFFFFFU, value) != 0; }

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

// lg2.approx is off by 2 units in the last place at most (section 9.7.3).
__device__ __forceinline__ float log2(float x) { return __log2f(x); }
// The device's own, exact to 2 units of its size: 1 - 2 / (e^2x + 1) is off by 2^-23 whatever its size, which
// a soft cap of 50 makes a millionth of a score of 5.
__device__ __forceinline__ float tanh(float x) { return ::tanhf(x); }

__device__ __forceinline__ void atomic_add(float* place, float value) { atomicAdd(place, value); }
__device__ __forceinline__ void visit_tile(int, int, int, int) {}

template <class Kernel>
void launch(const Kernel& kernel, const Launch& geometry, void* stream) {
    switchyard::device::launch(kernel, geometry, stream, "flash attention");
}

}  // namespace switchyard::flash_cuda::device
