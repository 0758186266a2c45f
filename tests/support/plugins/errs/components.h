// The components of the test plugin `test_errs`.
#pragma once

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
