// Passes all gates, and writes through a null pointer once it gets as many values as a batch of a model has,
// which no sanitizer is to tell first.
#pragma once

#include "plain_relu.h"

class CrashesLater final : public switchyard::Activation {
public:
    using Activation::Activation;
    static switchyard::Verdict supports(const switchyard::ActivationRequest& request,
                                        const switchyard::HostInfo& host,
                                        const switchyard::Options& options) {
        return PlainRelu::supports(request, host, options);
    }
    __attribute__((no_sanitize("undefined"))) at::Tensor forward(const switchyard::ActivationInputs& inputs,
                                                                 const switchyard::ActivationParams&,
                                                                 switchyard::Saved*) override {
        volatile int* volatile nowhere = nullptr;
        if (inputs.x.numel() > 1000) *nowhere = 1;
        return inputs.x;
    }
};
