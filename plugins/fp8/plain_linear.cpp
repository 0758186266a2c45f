#include "plain_linear.h"

#include <optional>

#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>

#include <switchyard/sdk/bias_gradient.h>

namespace switchyard::fp8 {
namespace {

std::int64_t number_of(const at::Tensor& tensor) {
    return tensor.defined() ? static_cast<std::int64_t>(tensor.scalar_type()) : -1;
}

}  // namespace

at::Tensor PlainLinear::forward(const LinearInputs& inputs, Saved* saved) {
    const bool same = inputs.x.scalar_type() == at::kBFloat16;
    const at::Tensor x = same ? inputs.x : inputs.x.to(at::kBFloat16);
    if (saved != nullptr) {
        same ? saved->input(x) : saved->extra(x);
        saved->input(inputs.weight);
        saved->integers = {number_of(inputs.x), number_of(inputs.bias)};
    }
    const at::Tensor bias = casts_.cast(inputs.bias, at::kBFloat16);
    return at::linear(x, casts_.cast(inputs.weight, at::kBFloat16),
                      bias.defined() ? std::optional(bias) : std::nullopt);
}

LinearGrads PlainLinear::backward(const Saved& saved, const at::Tensor& grad_y, const LinearNeeds& needs) {
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const at::Tensor grad_RO = rows_of(grad_y.to(at::kBFloat16));
    LinearGrads grads;
    if (needs.x)
        grads.x = at::mm(grad_RO, casts_.cast(weight, at::kBFloat16))
                      .view(x.sizes())
                      .to(static_cast<at::ScalarType>(saved.integers[0]));
    if (needs.weight) grads.weight = at::mm(grad_RO.t(), rows_of(x)).to(weight.scalar_type());
    if (needs.bias) grads.bias = bias_gradient(grad_RO, static_cast<at::ScalarType>(saved.integers[1]));
    return grads;
}

}  // namespace switchyard::fp8
