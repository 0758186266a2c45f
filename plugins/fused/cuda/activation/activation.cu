#include "activation_rows.h"

namespace switchyard::fused_cuda {
namespace {

template <template <class> class Kernel>
void launch_for(const ActivationCall& call, const device::Launch& geometry, void* stream) {
    device::with_storage(
        call.storage, [&](auto type) { device::launch(Kernel<decltype(type)>{{call}}, geometry, stream); });
}

}  // namespace

void launch_activation_forward(const ActivationCall& call, const device::Launch& geometry, void* stream) {
    launch_for<ActivationForwardKernel>(call, geometry, stream);
}

void launch_activation_backward(const ActivationCall& call, const device::Launch& geometry, void* stream) {
    launch_for<ActivationBackwardKernel>(call, geometry, stream);
}

}  // namespace switchyard::fused_cuda
