#include <switchyard/sdk/cuda/device_rows.h>

#include "parts_launch.h"

namespace switchyard::fused_cuda {

// 32 columns of one vector: eight threads a column, whose parts are every eighth.
struct PartsKernel {
    static constexpr int threads = parts_threads;

    PartsCall c;

    __device__ __forceinline__ void operator()(unsigned char* shared) const {
        auto* const sums = reinterpret_cast<float*>(shared);
        const std::int64_t tiles = (c.width + 31) / 32;
        const int vector = static_cast<int>(device::block() / tiles);
        const std::int64_t column = (device::block() % tiles) * 32 + device::lane();
        float sum = 0.0F;
        if (column < c.width) {
            for (std::int64_t part = device::warp(); part < c.count; part += threads / 32)
                sum += c.parts[(part * c.vectors + vector) * c.width + column];
        }
        sums[device::thread()] = sum;
        device::sync_block();
        if (device::warp() != 0 || column >= c.width) return;
        for (int i = 1; i < threads / 32; ++i) sum += sums[32 * i + device::lane()];
        const float one[8] = {sum};
        device::store8(one, c.type[vector], c.out[vector], {column, 1, false});
    }
};

void launch_parts(const PartsCall& call, const device::Launch& geometry, void* stream) {
    device::launch(PartsKernel{call}, geometry, stream);
}

}  // namespace switchyard::fused_cuda
