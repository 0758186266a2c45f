// What the components of this plugin answer alike in `supports`.
#pragma once

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/request.h>
#include <switchyard/interfaces/require.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

// LibTorch's own kernels exist for these types on every device.
constexpr bool is_native_float(DType dtype) {
    return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::bfloat16 ||
           dtype == DType::float16;
}

inline void require_device(Verdict& verdict, const Request& request, const HostInfo& host) {
    REQUIRE(verdict, request.device == Device::cpu || host.first(request.device) != nullptr, Code::Device,
            "device", "cpu, or cuda on a host that has such a device", name(request.device),
            "set run.device = \"cpu\", or plan for a host with a device");
}

inline void require_native(Verdict& verdict, const Request& request, const HostInfo& host) {
    REQUIRE(verdict, is_native_float(request.dtype), Code::DType, "dtype",
            "float32, float64, bfloat16 or float16", name(request.dtype));
    require_device(verdict, request, host);
}

}  // namespace switchyard
