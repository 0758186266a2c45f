// What the plugin's base library asks this one for.
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <switchyard/sdk/plugin.h>

#include "cast.h"

SWITCHYARD_EXPORT void switchyard_plugin_cuda_v1(const switchyard::fp8::DeviceCast& call) {
    const auto device = static_cast<c10::DeviceIndex>(call.device);
    const c10::cuda::CUDAGuard guard(device);
    const int error = switchyard::fp8::launch_cast(call, c10::cuda::getCurrentCUDAStream(device).stream());
    C10_CUDA_CHECK(static_cast<cudaError_t>(error));
}
