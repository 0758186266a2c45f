#include "norm_backward.h"

namespace switchyard::fused_cuda {
namespace {

template <class T>
void launch_for(const NormCall& call, const device::Launch& geometry, void* stream) {
    call.width <= norm_warp_width ? device::launch(NormBackwardKernel<T, 1>{call}, geometry, stream)
                                  : device::launch(NormBackwardKernel<T, 8>{call}, geometry, stream);
}

}  // namespace

void launch_norm_backward(const NormCall& call, const device::Launch& geometry, void* stream) {
    switch (call.storage) {
        case device::Storage::float32:
            return launch_for<float>(call, geometry, stream);
        case device::Storage::bf16:
            return launch_for<device::Bf16>(call, geometry, stream);
        case device::Storage::fp16:
            return launch_for<device::Fp16>(call, geometry, stream);
    }
}

void launch_parts(const PartsCall& call, const device::Launch& geometry, void* stream) {
    device::launch(PartsKernel{call}, geometry, stream);
}

}  // namespace switchyard::fused_cuda
