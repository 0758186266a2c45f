#pragma once

#include "plain_relu.h"

#include <switchyard/interfaces/plugin_abi.h>

// Prints "WHERE, by ..." to the standard output: through C, through C++ and past both.
void tell(const char* where);

int start_printing(const SwitchyardServices* services, char* error, uint32_t error_size);

class PrintingRelu final : public switchyard::Activation {
public:
    explicit PrintingRelu(const switchyard::CreateInfo& info) : Activation(info), relu_(info) {
        tell("create");
    }
    ~PrintingRelu() override { tell("destroy"); }

    static switchyard::Verdict supports(const switchyard::ActivationRequest& request,
                                        const switchyard::HostInfo& host,
                                        const switchyard::Options& options) {
        tell("supports");
        return PlainRelu::supports(request, host, options);
    }
    at::Tensor forward(const switchyard::ActivationInputs& inputs, const switchyard::ActivationParams& params,
                       switchyard::Saved* saved) override {
        tell("forward");
        return relu_.forward(inputs, params, saved);
    }

private:
    PlainRelu relu_;
};
