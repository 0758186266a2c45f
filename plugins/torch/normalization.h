// LayerNorm and RMSNorm by at::layer_norm and at::rms_norm; the wide form as the calls that eager code makes.
#pragma once

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class TorchNormalization final : public Normalization {
public:
    using Normalization::Normalization;
    void* query(std::string_view id) override {
        return component_property(id, {{graph_capture_property, ""}});
    }

    static Verdict supports(const NormalizationRequest& request, const HostInfo& host,
                            const Options& options);
    NormalizationOutputs forward(const NormalizationInputs& inputs, const NormalizationParams& params,
                                 Saved* saved) override;
};

}  // namespace switchyard
