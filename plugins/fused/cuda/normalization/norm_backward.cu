#include "norm_backward.h"

namespace switchyard::fused_cuda {

void launch_norm_backward(const NormCall& call, const device::Launch& geometry, void* stream) {
    launch_norm_kernel<NormBackwardKernel>(call, geometry, stream);
}

}  // namespace switchyard::fused_cuda
