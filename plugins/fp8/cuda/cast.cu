#include "cast.h"

#include <cuda_runtime_api.h>

namespace switchyard::fp8 {
namespace {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 2048;

template <class Format, class Storage>
__global__ void __launch_bounds__(threads) cast_kernel(const DeviceCast call) {
    const auto first = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
    const auto amax = cast_part<Format, Storage>(call, first, static_cast<std::int64_t>(gridDim.x) * threads);
    const std::uint32_t of_warp = __reduce_max_sync(0xFFFFFFFFU, amax);
    if (threadIdx.x % 32 == 0 && of_warp > 0) atomicMax(call.amax_bits, of_warp);
}

template <class Format>
void launch(const DeviceCast& call, int blocks, cudaStream_t stream) {
    call.bfloat16 ? cast_kernel<Format, std::uint16_t><<<blocks, threads, 0, stream>>>(call)
                  : cast_kernel<Format, float><<<blocks, threads, 0, stream>>>(call);
}

}  // namespace

int launch_cast(const DeviceCast& call, void* stream) {
    const std::int64_t wanted = (call.count / 4 + threads - 1) / threads;
    const auto blocks = static_cast<int>(wanted < 1 ? 1 : wanted > most_blocks ? most_blocks : wanted);
    const auto queue = static_cast<cudaStream_t>(stream);
    call.e5m2 ? launch<E5M2>(call, blocks, queue) : launch<E4M3>(call, blocks, queue);
    return static_cast<int>(cudaGetLastError());
}

}  // namespace switchyard::fp8
