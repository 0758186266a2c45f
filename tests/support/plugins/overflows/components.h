// A ReLU that is right but for one call: its n-th forward of more values than a probe tries has an Inf, or
// its n-th backward a NaN.
#pragma once

#include <limits>

#include <ATen/ops/mul.h>
#include <ATen/ops/relu.h>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/verdict.h>

#include "plain_relu.h"

class Overflows final : public switchyard::Activation {
public:
    explicit Overflows(const switchyard::CreateInfo& info)
        : Activation(info),
          forward_call_(info.options.integer("forward_call")),
          backward_call_(info.options.integer("backward_call")) {}
    static switchyard::Verdict supports(const switchyard::ActivationRequest& request,
                                        const switchyard::HostInfo& host,
                                        const switchyard::Options& options) {
        auto verdict = PlainRelu::supports(request, host, options);
        if (request.input_bias) verdict.reject(switchyard::Code::Fusion, "input_bias", "false", "true");
        return verdict;
    }
    at::Tensor forward(const switchyard::ActivationInputs& inputs, const switchyard::ActivationParams&,
                       switchyard::Saved* saved) override {
        executed();
        if (saved != nullptr) saved->input(inputs.x);
        auto y = at::relu(inputs.x);
        if (y.numel() > 1000 && ++forwards_ == forward_call_)
            y.view({-1})[0].fill_(std::numeric_limits<float>::infinity());
        return y;
    }
    switchyard::ActivationGrads backward(const switchyard::ActivationParams&, const switchyard::Saved& saved,
                                         const at::Tensor& grad_y,
                                         const switchyard::ActivationNeeds&) override {
        auto gradient = grad_y.mul(saved[0].gt(0));
        if (gradient.numel() > 1000 && ++backwards_ == backward_call_)
            gradient.view({-1})[7].fill_(std::numeric_limits<float>::quiet_NaN());
        return {gradient, {}};
    }

private:
    std::int64_t forward_call_, backward_call_, forwards_ = 0, backwards_ = 0;
};
