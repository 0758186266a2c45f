#include "precision.h"

#include <switchyard/sdk/serves.h>

namespace switchyard {
namespace {

void require_float32(Verdict& verdict, const PrecisionRequest& request, const HostInfo& host) {
    REQUIRE(verdict, request.dtype == DType::float32, Code::DType, "dtype",
            "float32 (parameters as the model stores them)", name(request.dtype));
    require_device(verdict, request, host);
    REQUIRE(verdict, !request.loss_scaling, Code::Option, "loss_scaling",
            "false (its range needs no loss scale)", "true");
}

}  // namespace

Verdict TorchFp32::supports(const PrecisionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_float32(verdict, request, host);
    return verdict;
}

Verdict TorchBf16::supports(const PrecisionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_float32(verdict, request, host);
    const auto* device = host.first(Device::cuda);
    REQUIRE(verdict, request.device == Device::cpu || device == nullptr || device->compute_capability >= 80,
            Code::Device, "compute_capability", "80 or more for bfloat16", device->compute_capability);
    return verdict;
}

DType TorchBf16::compute(OpClass op, const std::string&) const {
    const bool low = op == OpClass::linear || op == OpClass::attention || op == OpClass::activation;
    return low ? DType::bfloat16 : DType::float32;
}

}  // namespace switchyard
