#include "precision.h"

#include <optional>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/linear.h>

#include <switchyard/sdk/serves.h>

namespace switchyard {
namespace {

std::optional<at::Tensor> if_defined(const at::Tensor& tensor) {
    return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
}

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

at::Tensor TorchFp32::linear(const LinearInputs& inputs, const LinearSite&, Saved*) {
    executed();
    const auto& x = inputs.x;
    return at::linear(x.scalar_type() == at::kFloat ? x : x.to(at::kFloat), inputs.weight,
                      if_defined(inputs.bias));
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

at::Tensor TorchBf16::linear(const LinearInputs& inputs, const LinearSite&, Saved*) {
    executed();
    const auto& x = inputs.x;
    return at::linear(x.scalar_type() == at::kBFloat16 ? x : x.to(at::kBFloat16), cast(inputs.weight),
                      inputs.bias.defined() ? std::optional<at::Tensor>(cast(inputs.bias)) : std::nullopt);
}

at::Tensor TorchBf16::cast(const at::Tensor& weight) {
    if (weight.scalar_type() == at::kBFloat16) return weight;
    if (weight.is_inference()) return weight.to(at::kBFloat16);
    const bool with_gradient = weight.requires_grad() && at::GradMode::is_enabled();
    auto& kept = casts_[weight.unsafeGetTensorImpl()];
    if (kept.copy.defined() && kept.version == weight._version() && kept.with_gradient == with_gradient)
        return kept.copy;
    kept = {weight, weight.to(at::kBFloat16), weight._version(), with_gradient};
    return kept.copy;
}

}  // namespace switchyard
