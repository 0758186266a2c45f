#include "norm_forward.h"

namespace switchyard::fused_cuda {

void launch_norm_forward(const NormCall& call, const device::Launch& geometry, void* stream) {
    launch_norm_kernel<NormForwardKernel>(call, geometry, stream);
}

}  // namespace switchyard::fused_cuda
