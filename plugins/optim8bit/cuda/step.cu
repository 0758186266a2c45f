#include "step_kernel.h"

namespace switchyard::optim8bit_cuda {

void launch_norm(const device::NormCall& call, const device::Launch& geometry, void* stream) {
    device::launch(device::NormKernel{call}, geometry, stream);
}

void launch_step(const device::StepCall& call, const Codes& codes, const device::Launch& geometry,
                 void* stream) {
    device::launch(StepKernel{call, codes}, geometry, stream);
}

}  // namespace switchyard::optim8bit_cuda
