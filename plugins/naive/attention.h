// The plain reference of attention: the whole score matrix, every mask, both layouts.
#pragma once

#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class NaiveAttention final : public Attention {
public:
    using Attention::Attention;

    static Verdict supports(const AttentionRequest& request, const HostInfo& host, const Options& options);
    AttentionOutputs forward(const AttentionInputs& inputs, const AttentionParams& params,
                             Saved* saved) override;
};

}  // namespace switchyard
