// ReLU that throws, each class in another call.
#pragma once

#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/relu.h>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/verdict.h>

class ThrowsNowhere : public switchyard::Activation {
public:
    using Activation::Activation;
    static switchyard::Verdict supports(const switchyard::ActivationRequest&, const switchyard::HostInfo&,
                                        const switchyard::Options&) {
        return {};
    }
    at::Tensor forward(const switchyard::ActivationInputs& inputs, const switchyard::ActivationParams&,
                       switchyard::Saved* saved) override {
        const at::Tensor y = at::relu(inputs.x);
        if (saved != nullptr) saved->output(y);
        return y;
    }
    switchyard::ActivationGrads backward(const switchyard::ActivationParams&, const switchyard::Saved& saved,
                                         const at::Tensor& grad_y,
                                         const switchyard::ActivationNeeds&) override {
        return {grad_y * saved[0].gt(0), {}};
    }
};

class ThrowsInSupports final : public ThrowsNowhere {
public:
    using ThrowsNowhere::ThrowsNowhere;
    static switchyard::Verdict supports(const switchyard::ActivationRequest&, const switchyard::HostInfo&,
                                        const switchyard::Options&) {
        throw 42;
    }
};

class ThrowsInCreate final : public ThrowsNowhere {
public:
    explicit ThrowsInCreate(const switchyard::CreateInfo& info) : ThrowsNowhere(info) {
        throw std::runtime_error("no room for me");
    }
};

class ThrowsInForward final : public ThrowsNowhere {
public:
    using ThrowsNowhere::ThrowsNowhere;
    at::Tensor forward(const switchyard::ActivationInputs&, const switchyard::ActivationParams&,
                       switchyard::Saved*) override {
        throw 43;
    }
};

class ThrowsInBackward final : public ThrowsNowhere {
public:
    using ThrowsNowhere::ThrowsNowhere;
    switchyard::ActivationGrads backward(const switchyard::ActivationParams&, const switchyard::Saved&,
                                         const at::Tensor&, const switchyard::ActivationNeeds&) override {
        throw 44;
    }
};

class WrongShape final : public ThrowsNowhere {
public:
    using ThrowsNowhere::ThrowsNowhere;
    at::Tensor forward(const switchyard::ActivationInputs& inputs, const switchyard::ActivationParams&,
                       switchyard::Saved*) override {
        return inputs.x.flatten();
    }
};
