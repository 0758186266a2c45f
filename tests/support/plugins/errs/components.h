// The components of the test plugin `test_errs`.
#pragma once

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/verdict.h>

class Unmasked final : public switchyard::Attention {
public:
    using Attention::Attention;
    static switchyard::Verdict supports(const switchyard::AttentionRequest&, const switchyard::HostInfo&,
                                        const switchyard::Options&);
    switchyard::AttentionOutputs forward(const switchyard::AttentionInputs& inputs,
                                         const switchyard::AttentionParams&, switchyard::Saved*) override;
};

class Throwing final : public switchyard::Attention {
public:
    using Attention::Attention;
    static switchyard::Verdict supports(const switchyard::AttentionRequest&, const switchyard::HostInfo&,
                                        const switchyard::Options&);
    switchyard::AttentionOutputs forward(const switchyard::AttentionInputs&,
                                         const switchyard::AttentionParams&, switchyard::Saved*) override;
};

class Tires final : public switchyard::Activation {
public:
    explicit Tires(const switchyard::CreateInfo& info);
    static switchyard::Verdict supports(const switchyard::ActivationRequest&, const switchyard::HostInfo&,
                                        const switchyard::Options&);
    at::Tensor forward(const switchyard::ActivationInputs& inputs, const switchyard::ActivationParams&,
                       switchyard::Saved*) override;

private:
    double scale_;
};
