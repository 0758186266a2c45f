// Activations of the feed-forward by at::gelu, at::relu and at::silu; gated forms on the two halves as views.
#pragma once

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class TorchActivation final : public Activation {
public:
    using Activation::Activation;
    void* query(std::string_view id) override {
        return component_property(id, {{graph_capture_property, ""}});
    }

    static Verdict supports(const ActivationRequest& request, const HostInfo& host, const Options& options);
    at::Tensor forward(const ActivationInputs& inputs, const ActivationParams& params, Saved* saved) override;
};

}  // namespace switchyard
