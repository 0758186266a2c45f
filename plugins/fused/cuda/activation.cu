#include "activation_rows.h"

namespace switchyard::fused_cuda {
namespace {

template <template <class> class Kernel>
void launch_for(const ActivationCall& call, const device::Launch& geometry, void* stream) {
    switch (call.storage) {
        case device::Storage::float32:
            return device::launch(Kernel<float>{{call}}, geometry, stream);
        case device::Storage::bf16:
            return device::launch(Kernel<device::Bf16>{{call}}, geometry, stream);
        case device::Storage::fp16:
            return device::launch(Kernel<device::Fp16>{{call}}, geometry, stream);
    }
}

}  // namespace

void launch_activation_forward(const ActivationCall& call, const device::Launch& geometry, void* stream) {
    launch_for<ActivationForwardKernel>(call, geometry, stream);
}

void launch_activation_backward(const ActivationCall& call, const device::Launch& geometry, void* stream) {
    launch_for<ActivationBackwardKernel>(call, geometry, stream);
}

}  // namespace switchyard::fused_cuda
