// Normalization, in the widest form that a transformer block wants:
//
//     sum = residual + dropout(x + bias)          (each part only if it is there)
//     y   = norm(sum) * weight + beta
//
// LayerNorm: (s - mean) / sqrt(variance + eps), biased variance (Ba et al. 2016, arXiv:1607.06450).
// RMSNorm:    s / sqrt(mean(s^2) + eps), no beta (Zhang & Sennrich 2019, arXiv:1910.07467).
// Statistics are taken in float32 at least, unless the component is Accuracy::reduced.
#pragma once

#include <stdexcept>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/component.h>
#include <switchyard/interfaces/dropout.h>
#include <switchyard/interfaces/saved.h>
#include <switchyard/interfaces/tokens.h>

namespace switchyard {

struct NormalizationInputs {
    at::Tensor x;         // [..., width], any strides
    at::Tensor bias;      // [width] or undefined
    at::Tensor residual;  // shape of x or undefined
    at::Tensor weight;    // [width], dtype of x or float32
    at::Tensor beta;      // [width] or undefined; dtype of weight
};

struct NormalizationParams {
    NormKind norm = NormKind::layer_norm;
    double eps = 1e-5;
    Dropout dropout;  // position of a value: (sequence, 0, position, channel)
    Tokens tokens;    // read only when dropout is active
};

struct NormalizationOutputs {
    at::Tensor y;    // shape and dtype of x
    at::Tensor sum;  // likewise; defined if any of bias, residual, dropout is there
};

struct NormalizationNeeds {
    bool x = true, bias = false, residual = false, weight = true, beta = false;
};

struct NormalizationGrads {
    at::Tensor x, bias, residual, weight, beta;
};

class Normalization : public Component {
public:
    using Component::Component;

    virtual NormalizationOutputs forward(const NormalizationInputs& inputs, const NormalizationParams& params,
                                         Saved* saved) = 0;

    // GradientMode::kernel only. `grad_sum` is undefined when the sum is not an output or was not used.
    virtual NormalizationGrads backward(const NormalizationParams& /*params*/, const Saved& /*saved*/,
                                        const at::Tensor& /*grad_y*/, const at::Tensor& /*grad_sum*/,
                                        const NormalizationNeeds& /*needs*/) {
        throw std::logic_error("normalization: this component declares no backward of its own");
    }
};

}  // namespace switchyard
