// The component for a CUDA device, and what the plugin's base library asks this one for.
#include <switchyard/sdk/cuda/optimizer.h>
#include <switchyard/sdk/plugin.h>

#include "step_on_device.h"

SWITCHYARD_EXPORT switchyard::Optimizer* switchyard_plugin_cuda_v1(const switchyard::CreateInfo& info) {
    return new switchyard::device::CudaOptimizer<switchyard::optim8bit_cuda::StepOnDevice>(info);
}
