// The plain reference of LayerNorm and RMSNorm, in the wide form.
#pragma once

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class NaiveNormalization final : public Normalization {
public:
    using Normalization::Normalization;

    static Verdict supports(const NormalizationRequest& request, const HostInfo& host,
                            const Options& options);
    NormalizationOutputs forward(const NormalizationInputs& inputs, const NormalizationParams& params,
                                 Saved* saved) override;
};

}  // namespace switchyard
