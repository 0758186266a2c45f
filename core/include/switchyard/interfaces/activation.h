// Activation of the feed-forward: dropout(act(x + bias)), gated forms on the packed projection.
//
//     plain:  y = act(x + bias)                                 x, y [..., width]
//     gated:  y = act((x + bias)[..., :width]) * (x + bias)[..., width:]
//                                                               x [..., 2 * width], y [..., width]
//
// gelu_erf: x * Phi(x); gelu_tanh: its tanh approximation (Hendrycks & Gimpel 2016, arXiv:1606.08415);
// silu: x * sigmoid(x); identity: x, so that dropout(x + bias) alone, as after embeddings, is this operation
// too.
// custom (ActivationRequest::custom) is what its component says: a function of one value, plain, which that
// component also computes in float64 on the CPU. That is what other dtypes, and by finite differences its
// gradient, are held to.
#pragma once

#include <stdexcept>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/component.h>
#include <switchyard/interfaces/dropout.h>
#include <switchyard/interfaces/saved.h>
#include <switchyard/interfaces/tokens.h>

namespace switchyard {

struct ActivationInputs {
    at::Tensor x;     // any strides
    at::Tensor bias;  // [width], gated [2 * width], or undefined; dtype of x or float32
};

struct ActivationParams {
    ActivationKind activation = ActivationKind::gelu_erf;
    Dropout dropout;  // on the result; position of a value: (sequence, 0, position, channel of y)
    Tokens tokens;    // read only when dropout is active
};

struct ActivationNeeds {
    bool x = true, bias = false;
};

struct ActivationGrads {
    at::Tensor x, bias;
};

class Activation : public Component {
public:
    using Component::Component;

    // Returns y in the dtype of x.
    virtual at::Tensor forward(const ActivationInputs& inputs, const ActivationParams& params,
                               Saved* saved) = 0;

    // GradientMode::kernel only.
    virtual ActivationGrads backward(const ActivationParams& /*params*/, const Saved& /*saved*/,
                                     const at::Tensor& /*grad_y*/, const ActivationNeeds& /*needs*/) {
        throw std::logic_error("activation: this component declares no backward of its own");
    }
};

}  // namespace switchyard
