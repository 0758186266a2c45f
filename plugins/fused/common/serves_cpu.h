// What all components here ask of a request: a device, and a dtype that their kernels store. Included by
// sources that define `supports`.
#pragma once

#include <switchyard/sdk/cuda/serves.h>

namespace switchyard {

inline void require_cpu_storage(Verdict& verdict, const Request& request) {
    REQUIRE(verdict, request.device == Device::cpu, Code::Device, "device", "cpu", name(request.device));
    REQUIRE(verdict, is_float_to_32_bits(request.dtype), Code::DType, "dtype", "float32, bfloat16 or float16",
            name(request.dtype));
}

// The same, or a CUDA device.
inline void require_storage(Verdict& verdict, const Request& request, const HostInfo& host) {
    if (request.device != Device::cuda) return require_cpu_storage(verdict, request);
    require_cuda_part(verdict, request, host, SWITCHYARD_PLUGIN_CUDA == 1);
    REQUIRE(verdict, is_float_to_32_bits(request.dtype), Code::DType, "dtype", "float32, bfloat16 or float16",
            name(request.dtype));
}

}  // namespace switchyard
