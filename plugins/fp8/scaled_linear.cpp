#include "scaled_linear.h"

#include <optional>

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>

#include "product.h"

namespace switchyard {
namespace {

// On a CPU the decoded values are multiplied.
const char* computes_in(const at::Tensor& values) {
    if (values.is_cuda() || values.scalar_type() == at::kBFloat16) return nullptr;
    return values.scalar_type() == at::kFloat8_e5m2 ? "E5M2 as fp32" : "E4M3 as fp32";
}

}  // namespace

at::Tensor ScaledLinear::forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) {
    const LinearOperand& weight_OI = weight.operand;
    computed_in_ = computes_in(x.values);
    if (!x.scaled()) {
        executed("bfloat16");
        return at::linear(x.values, weight_OI.values, bias.defined() ? std::optional(bias) : std::nullopt);
    }
    const bool whole = fp8::is_whole(x.values.size(0), x.values.size(1), weight_OI.values.size(0));
    executed(whole ? "float8" : "float8_padded");
    const at::Tensor y_RO = fp8::product(x, weight_OI, true);
    return bias.defined() ? y_RO + bias : y_RO;
}

at::Tensor ScaledLinear::input_gradient(const LinearOperand& grad, const LinearWeight& weight) {
    computed_in_ = computes_in(grad.values);
    if (!grad.scaled()) return at::mm(grad.values, weight.operand.values);
    return fp8::product(grad, weight.operand, false);
}

at::Tensor ScaledLinear::weight_gradient(const LinearOperand& grad, const LinearOperand& x) {
    computed_in_ = computes_in(grad.values);
    if (!grad.scaled()) return at::mm(grad.values.t(), x.values);
    return fp8::product(grad, x, false);
}

}  // namespace switchyard
