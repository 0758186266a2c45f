#include "step_kernels.h"

namespace switchyard::fused_cuda {

void launch_norm(const device::NormCall& call, const device::Launch& geometry, void* stream) {
    device::launch(device::NormKernel{call}, geometry, stream);
}

void launch_step(const device::StepCall& call, const WholeTensors& whole, bool counts,
                 const device::Launch& geometry, void* stream) {
    device::launch(StepKernel{call, whole, counts}, geometry, stream);
}

void launch_second_step(const device::StepCall& call, const WholeTensors& whole,
                        const device::Launch& geometry, void* stream) {
    device::launch(SecondStepKernel{call, whole}, geometry, stream);
}

}  // namespace switchyard::fused_cuda
