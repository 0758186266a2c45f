#include "requests.h"

#include <limits>
#include <string>

#include <ATen/TensorOperators.h>

#include <switchyard/sdk/serves.h>

namespace switchyard::aten {

void require_common(Verdict& verdict, const AttentionRequest& request, const HostInfo& host,
                    std::int64_t most_dim) {
    const DeviceInfo* const device = host.first(Device::cuda);
    REQUIRE(verdict, request.device == Device::cuda && device != nullptr, Code::Device, "device",
            "cuda, on a host that has such a device", name(request.device));
    if (device != nullptr) {
        REQUIRE(verdict, device->compute_capability >= 80, Code::Device, "compute_capability", "8.0 or newer",
                std::to_string(device->compute_capability / 10) + "." +
                    std::to_string(device->compute_capability % 10));
    }
    REQUIRE(verdict, request.dtype == DType::bfloat16 || request.dtype == DType::float16, Code::DType,
            "dtype", "bfloat16 or float16", name(request.dtype));
    REQUIRE(verdict, request.head_dim.within(8, most_dim) && request.head_dim.all_multiples_of(8),
            Code::HeadDim, "head_dim", "one multiple of 8, from 8 to " + std::to_string(most_dim),
            request.head_dim);
    REQUIRE(verdict, request.v_head_dim == request.head_dim, Code::HeadDim, "v_head_dim", "that of q and k",
            request.v_head_dim);
    REQUIRE(verdict, !request.paged_cache, Code::Layout, "paged_cache",
            "false (keys and values lie end to end)", "true");
    REQUIRE(verdict, !request.deterministic || !request.needs_grad, Code::Determinism, "deterministic",
            "false with gradients (backward adds atomically)", "true");
}

at::Tensor contract_lse(const at::Tensor& lse) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return lse.masked_fill(lse.eq(infinity), -infinity);
}

}  // namespace switchyard::aten
