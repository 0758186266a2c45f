#include "activation.h"

#include <ATen/ops/chunk.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>

#include <switchyard/sdk/serves.h>

#include "as_type.h"

namespace switchyard {
namespace {

at::Tensor activate(const at::Tensor& x, ActivationKind kind) {
    switch (kind) {
        case ActivationKind::gelu_erf:
        case ActivationKind::geglu_erf:
            return at::gelu(x);
        case ActivationKind::gelu_tanh:
        case ActivationKind::geglu_tanh:
            return at::gelu(x, "tanh");
        case ActivationKind::silu:
        case ActivationKind::swiglu:
            return at::silu(x);
        case ActivationKind::relu:
        case ActivationKind::reglu:
            return at::relu(x);
        default:
            return x;
    }
}

}  // namespace

Verdict TorchActivation::supports(const ActivationRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    REQUIRE(verdict, request.activation <= ActivationKind::identity, Code::Algorithm, "activation",
            "gelu_erf, gelu_tanh, relu, silu, swiglu, geglu_erf, geglu_tanh, reglu or identity",
            name(request.activation));
    return verdict;
}

at::Tensor TorchActivation::forward(const ActivationInputs& inputs, const ActivationParams& params, Saved*) {
    executed();
    const auto x = add_bias(inputs.x, inputs.bias);
    at::Tensor y;
    if (is_gated(params.activation)) {
        const auto halves = at::chunk(x, 2, -1);
        y = at::mul(activate(halves[0], params.activation), halves[1]);
    } else {
        y = activate(x, params.activation);
    }
    if (params.dropout.active()) return at::dropout(y, params.dropout.p, true);
    return y.is_same(inputs.x) ? y.clone() : y;  // identity of x alone: a result is never its input
}

}  // namespace switchyard
