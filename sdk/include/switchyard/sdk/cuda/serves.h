// What a CUDA part asks of a request, for `supports`: a device of the host that its machine code is for, and
// a part that was built. Included by sources that define `supports` and by nothing else. Since 1.0.
#pragma once

#include <string>

#include <switchyard/interfaces/options.h>
#include <switchyard/sdk/serves.h>

namespace switchyard {

// Kernels are machine code for 8.0, which runs on all of 8.x, and for 9.0a, which runs on 9.0 alone.
inline bool has_cuda_code_for(int capability) { return capability / 10 == 8 || capability == 90; }

inline void require_cuda_code(Verdict& verdict, const DeviceInfo& device) {
    const int capability = device.compute_capability;
    REQUIRE(verdict, has_cuda_code_for(capability), Code::Device, "compute_capability", "8.0 to 8.9, or 9.0",
            std::to_string(capability / 10) + "." + std::to_string(capability % 10));
}

// `built`: SWITCHYARD_PLUGIN_CUDA == 1.
inline void require_cuda_device(Verdict& verdict, const Request& request, const HostInfo& host, bool built) {
    REQUIRE(verdict, host.first(Device::cuda) != nullptr, Code::Device, "device",
            "cpu, or cuda on a host that has such a device", name(request.device),
            "set run.device = \"cpu\", or plan for a host with a device");
    REQUIRE(verdict, built || host.described, Code::Library, "cuda", "a plugin built with nvcc",
            "built without", "build it where nvcc is found: `./dev build` says what it looked for");
}

// Both.
inline void require_cuda_part(Verdict& verdict, const Request& request, const HostInfo& host, bool built) {
    require_cuda_device(verdict, request, host, built);
    if (const DeviceInfo* const device = host.first(Device::cuda)) require_cuda_code(verdict, *device);
}

}  // namespace switchyard
