// LayerNorm and RMSNorm in one sweep, the wide form norm(residual + dropout(x + bias)) included, forward and
// backward.
// For a CUDA device the same component is the one of the plugin's second library (cuda/component.cpp).
#pragma once

#include <cstdint>
#include <memory>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class FusedNormalization : public Normalization {
public:
    explicit FusedNormalization(const CreateInfo& info) : FusedNormalization(info, false) {}

    static Verdict supports(const NormalizationRequest& request, const HostInfo& host,
                            const Options& options);
    NormalizationOutputs forward(const NormalizationInputs& inputs, const NormalizationParams& params,
                                 Saved* saved) override;
    NormalizationGrads backward(const NormalizationParams& params, const Saved& saved,
                                const at::Tensor& grad_y, const at::Tensor& grad_sum,
                                const NormalizationNeeds& needs) override;
    void* query(std::string_view id) override {
        return component_property(id, {{graph_capture_property, ""},
                                       {computes_in_property, computes_in_},
                                       {thread_counts_property, ""}});
    }

protected:
    FusedNormalization(const CreateInfo& info, bool reduced);

private:
    bool reduced_;
    const char* computes_in_;
    std::int64_t last_cache_bytes_;
    std::unique_ptr<Normalization> on_cuda_;  // or nullptr
};

// Parameters, mean and 1 / deviation have been through the storage dtype, as where LP-LayerNorm casts down
// (MosaicML Composer, Low Precision LayerNorm), and the variance is taken in one pass, mean(s^2) - mean(s)^2,
// which loses digits where the mean is large. Accuracy::reduced.
class LowPrecisionNormalization final : public FusedNormalization {
public:
    explicit LowPrecisionNormalization(const CreateInfo& info) : FusedNormalization(info, true) {}

    static Verdict supports(const NormalizationRequest& request, const HostInfo& host,
                            const Options& options);
};

}  // namespace switchyard
