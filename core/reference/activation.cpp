#include <switchyard/reference/activation.h>

#include <sstream>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/silu.h>

#include <switchyard/reference/dropout_mask.h>

namespace switchyard::reference {
namespace {

at::Tensor plain(ActivationKind kind, const at::Tensor& x) {
    switch (kind) {
        case ActivationKind::gelu_erf:
        case ActivationKind::geglu_erf:
            return at::gelu(x, "none");
        case ActivationKind::gelu_tanh:
        case ActivationKind::geglu_tanh:
            return at::gelu(x, "tanh");
        case ActivationKind::silu:
        case ActivationKind::swiglu:
            return at::silu(x);
        case ActivationKind::relu:
        case ActivationKind::reglu:
            return x.relu();
        case ActivationKind::identity:
            return x.clone();  // a result is never its input
        case ActivationKind::custom:
            break;
    }
    throw std::invalid_argument("activation: the reference knows no custom activation");
}

void check(const ActivationInputs& inputs, const ActivationParams& params) {
    std::ostringstream text;
    if (!inputs.x.defined() || inputs.x.dim() < 1) {
        text << "activation: x must be [..., width]";
    } else if (is_gated(params.activation) && inputs.x.size(-1) % 2 != 0) {
        text << "activation: " << name(params.activation) << " needs x [..., 2 * width], got "
             << inputs.x.sizes();
    } else if (inputs.bias.defined() &&
               (inputs.bias.dim() != 1 || inputs.bias.size(0) != inputs.x.size(-1))) {
        text << "activation: bias must be [" << inputs.x.size(-1) << "], the last dimension of x, got "
             << inputs.bias.sizes();
    } else {
        return;
    }
    throw std::invalid_argument(text.str());
}

}  // namespace

at::Tensor activation(const ActivationInputs& inputs, const ActivationParams& params) {
    check(inputs, params);
    at::Tensor x = inputs.x;
    if (inputs.bias.defined()) x = (x + inputs.bias).to(inputs.x.scalar_type());
    at::Tensor y;
    if (is_gated(params.activation)) {
        const std::int64_t width = x.size(-1) / 2;
        y = plain(params.activation, x.narrow(-1, 0, width)) * x.narrow(-1, width, width);
    } else {
        y = plain(params.activation, x);
    }
    return hidden_dropout(y, params.dropout, params.tokens);
}

}  // namespace switchyard::reference
