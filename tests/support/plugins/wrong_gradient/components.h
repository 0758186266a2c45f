// Right values, and half of their gradient.
#pragma once

#include <ATen/TensorOperators.h>

#include "plain_relu.h"

class HalfGradient final : public PlainRelu {
public:
    using PlainRelu::PlainRelu;
    at::Tensor forward(const switchyard::ActivationInputs& inputs, const switchyard::ActivationParams&,
                       switchyard::Saved*) override {
        executed();
        const auto right = at::relu(inputs.bias.defined() ? inputs.x + inputs.bias : inputs.x);
        return right.detach() + (right - right.detach()) * 0.5;
    }
};
