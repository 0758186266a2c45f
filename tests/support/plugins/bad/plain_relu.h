// A component that is right, for plugins that misbehave elsewhere.
#pragma once

#include <ATen/ops/relu.h>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/verdict.h>

class PlainRelu : public switchyard::Activation {
public:
    using Activation::Activation;
    static switchyard::Verdict supports(const switchyard::ActivationRequest& request,
                                        const switchyard::HostInfo&, const switchyard::Options&) {
        switchyard::Verdict verdict;
        if (request.activation != switchyard::ActivationKind::relu) {
            verdict.reject(switchyard::Code::Algorithm, "activation", "relu", name(request.activation));
        }
        return verdict;
    }
    at::Tensor forward(const switchyard::ActivationInputs& inputs, const switchyard::ActivationParams&,
                       switchyard::Saved*) override {
        executed();
        return at::relu(inputs.x);
    }
};
