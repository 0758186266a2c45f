// Cross-entropy by at::cross_entropy_loss, mean squared error by at::mse_loss and binary cross-entropy by
// at::binary_cross_entropy_with_logits, in float32 at least as autocast has it; the projection is an
// at::linear before cross-entropy.
#pragma once

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class TorchLoss final : public Loss {
public:
    using Loss::Loss;
    void* query(std::string_view id) override {
        return component_property(id, {{graph_capture_property, ""}});
    }

    static Verdict supports(const LossRequest& request, const HostInfo& host, const Options& options);
    LossOutputs forward(const LossInputs& inputs, const LossParams& params, Saved* saved) override;
};

}  // namespace switchyard
