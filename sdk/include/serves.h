// Conditions that most components have alike, for `supports`: components on plain ATen serve these types on the host's devices.
//
//     #include <switchyard/sdk/serves.h>
//
//     Verdict MyActivation::supports(const ActivationRequest& request, const HostInfo& host, const Options&) {
//         Verdict verdict;
//         require_native(verdict, request, host);
//         REQUIRE(verdict, request.activation == ActivationKind::relu, Code::Algorithm, ...);
//         return verdict;
//     }
//
// Included by sources that define `supports` and by nothing else (interfaces/require.h says why).
#pragma once

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/request.h>
#include <switchyard/interfaces/require.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

// LibTorch has kernels for these types on every device: float32, float64, bfloat16, float16.
constexpr bool is_native_float(DType dtype) {
    return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::bfloat16 ||
           dtype == DType::float16;
}

// The request's device is the CPU, or one that the host has. `host` may be described, not this machine: nothing is asked of a driver.
inline void require_device(Verdict& verdict, const Request& request, const HostInfo& host) {
    REQUIRE(verdict, request.device == Device::cpu || host.first(request.device) != nullptr, Code::Device,
            "device", "cpu, or cuda on a host that has such a device", name(request.device),
            "set run.device = \"cpu\", or plan for a host with a device");
}

// A native float on such a device. Both are told if both fail.
inline void require_native(Verdict& verdict, const Request& request, const HostInfo& host) {
    REQUIRE(verdict, is_native_float(request.dtype), Code::DType, "dtype",
            "float32, float64, bfloat16 or float16", name(request.dtype));
    require_device(verdict, request, host);
}

}  // namespace switchyard
