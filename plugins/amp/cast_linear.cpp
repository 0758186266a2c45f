#include "cast_linear.h"

#include <switchyard/sdk/bias_gradient.h>

#include "products.h"

namespace switchyard {
namespace {

// Legend:  R rows  I in  O out
at::Tensor rows_of(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

}  // namespace

at::Tensor CastLinear::forward(const LinearInputs& inputs, at::ScalarType dtype, Saved* saved) {
    const bool same = inputs.x.scalar_type() == dtype;
    const at::Tensor x = same ? inputs.x : inputs.x.to(dtype);
    const at::Tensor bias = casts_.cast(inputs.bias, dtype);
    if (saved != nullptr) {
        same ? saved->input(x) : saved->extra(x);
        saved->input(inputs.weight);
        saved->integers = {static_cast<std::int64_t>(inputs.x.scalar_type()),
                           inputs.bias.defined() ? static_cast<std::int64_t>(inputs.bias.scalar_type()) : -1};
    }
    computed_in_ = nullptr;
    return linear_product(x, casts_.cast(inputs.weight, dtype), bias, fixed_order_, computed_in_);
}

LinearGrads CastLinear::backward(const Saved& saved, const at::Tensor& grad_y, const LinearNeeds& needs) {
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const auto x_dtype = static_cast<at::ScalarType>(saved.integers[0]);
    const at::Tensor grad = grad_y.scalar_type() == x.scalar_type() ? grad_y : grad_y.to(x.scalar_type());
    const at::Tensor grad_RO = rows_of(grad);
    LinearGrads grads;
    computed_in_ = nullptr;
    // The weight's gradient first: it packs x for a while, and the gradient of x is often as large.
    if (needs.weight)
        grads.weight =
            weight_gradient(grad_RO, rows_of(x), fixed_order_, computed_in_).to(weight.scalar_type());
    if (needs.x)
        grads.x = input_gradient(grad_RO, casts_.cast(weight, x.scalar_type()), fixed_order_, computed_in_)
                      .view(x.sizes())
                      .to(x_dtype);
    if (needs.bias) grads.bias = bias_gradient(grad_RO, static_cast<at::ScalarType>(saved.integers[1]));
    return grads;
}

}  // namespace switchyard
