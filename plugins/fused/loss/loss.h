// Cross-entropy on given logits, its gradient in the same sweep, or with the output projection in tiles;
// losses of values that each have a target (on the CPU).
#pragma once

#include <cstdint>
#include <memory>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class FusedLoss final : public Loss {
public:
    explicit FusedLoss(const CreateInfo& info);

    static Verdict supports(const LossRequest& request, const HostInfo& host, const Options& options);
    LossOutputs forward(const LossInputs& inputs, const LossParams& params, Saved* saved) override;
    LossGrads backward(const LossParams& params, const Saved& saved, const at::Tensor& grad_loss,
                       const LossNeeds& needs) override;
    void* query(std::string_view id) override {
        return component_property(id, {{graph_capture_property, ""},
                                       {computes_in_property, computes_in_},
                                       {thread_counts_property, ""}});
    }

private:
    const char* computes_in_;
    std::int64_t last_cache_bytes_;
    std::unique_ptr<Loss> on_cuda_;  // or nullptr: cuda/component.cpp
};

}  // namespace switchyard
