// Writes through a null pointer in its constructor, which no sanitizer is to tell first.
#pragma once

#include "plain_relu.h"

class CrashesInCreate final : public switchyard::Activation {
public:
    __attribute__((no_sanitize("undefined"))) explicit CrashesInCreate(const switchyard::CreateInfo& info)
        : Activation(info) {
        volatile int* volatile nowhere = nullptr;
        *nowhere = 1;
    }
    static switchyard::Verdict supports(const switchyard::ActivationRequest& request,
                                        const switchyard::HostInfo& host,
                                        const switchyard::Options& options) {
        return PlainRelu::supports(request, host, options);
    }
    at::Tensor forward(const switchyard::ActivationInputs& inputs, const switchyard::ActivationParams&,
                       switchyard::Saved*) override {
        return inputs.x;
    }
};
