#include <switchyard/reference/normalization.h>

#include <sstream>
#include <stdexcept>

#include <ATen/TensorOperators.h>

#include <switchyard/reference/dropout_mask.h>
#include <switchyard/reference/numeric.h>

namespace switchyard::reference {
namespace {

void check_row(const char* what, const at::Tensor& tensor, const at::Tensor& x) {
    if (!tensor.defined() || (tensor.dim() == 1 && tensor.size(0) == x.size(-1))) return;
    std::ostringstream text;
    text << "normalization: " << what << " must be [" << x.size(-1) << "], the width of x " << x.sizes()
         << ", got " << tensor.sizes();
    throw std::invalid_argument(text.str());
}

void check(const NormalizationInputs& inputs, const NormalizationParams& params) {
    if (!inputs.x.defined() || inputs.x.dim() < 1)
        throw std::invalid_argument("normalization: x must be [..., width]");
    if (!inputs.weight.defined()) throw std::invalid_argument("normalization: weight [width] is missing");
    check_row("weight", inputs.weight, inputs.x);
    check_row("bias", inputs.bias, inputs.x);
    check_row("beta", inputs.beta, inputs.x);
    if (inputs.beta.defined() && params.norm == NormKind::rms_norm) {
        throw std::invalid_argument("normalization: rms_norm has no beta");
    }
    if (inputs.residual.defined() && inputs.residual.sizes() != inputs.x.sizes()) {
        std::ostringstream text;
        text << "normalization: residual must have the shape of x " << inputs.x.sizes() << ", got "
             << inputs.residual.sizes();
        throw std::invalid_argument(text.str());
    }
}

}  // namespace

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& beta, double eps) {
    const at::Tensor s = wide(x);
    const at::Tensor centered = s - s.mean(-1, true);
    const at::Tensor variance = centered.square().mean(-1, true);
    at::Tensor y = centered * (variance + eps).rsqrt() * weight.to(s.scalar_type());
    if (beta.defined()) y = y + beta.to(s.scalar_type());
    return y.to(x.scalar_type());
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
    const at::Tensor s = wide(x);
    const at::Tensor y = s * (s.square().mean(-1, true) + eps).rsqrt() * weight.to(s.scalar_type());
    return y.to(x.scalar_type());
}

NormalizationOutputs normalization(const NormalizationInputs& inputs, const NormalizationParams& params) {
    check(inputs, params);
    const auto type = inputs.x.scalar_type();
    at::Tensor sum = inputs.x;
    if (inputs.bias.defined()) sum = (sum + inputs.bias).to(type);
    sum = hidden_dropout(sum, params.dropout, params.tokens);
    if (inputs.residual.defined()) sum = inputs.residual + sum;

    NormalizationOutputs outputs;
    outputs.y = params.norm == NormKind::layer_norm ? layer_norm(sum, inputs.weight, inputs.beta, params.eps)
                                                    : rms_norm(sum, inputs.weight, params.eps);
    if (inputs.bias.defined() || inputs.residual.defined() || params.dropout.active()) outputs.sum = sum;
    return outputs;
}

}  // namespace switchyard::reference
