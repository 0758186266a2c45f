// Bias, activation, gate and dropout in one sweep, forward and backward.
// For a CUDA device the same component is the one of the plugin's second library (cuda/component.cpp).
#pragma once

#include <cstdint>
#include <memory>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class FusedActivation final : public Activation {
public:
    explicit FusedActivation(const CreateInfo& info);

    static Verdict supports(const ActivationRequest& request, const HostInfo& host, const Options& options);
    at::Tensor forward(const ActivationInputs& inputs, const ActivationParams& params, Saved* saved) override;
    ActivationGrads backward(const ActivationParams& params, const Saved& saved, const at::Tensor& grad_y,
                             const ActivationNeeds& needs) override;
    void* query(std::string_view id) override {
        return component_property(
            id, {{graph_capture_property, ""}, {computes_in_property, "fp32"}, {thread_counts_property, ""}});
    }

private:
    std::int64_t last_cache_bytes_;
    std::unique_ptr<Activation> on_cuda_;  // or nullptr
};

}  // namespace switchyard
