// AdamW and Lion with moments in 8 bits (Dettmers et al. 2022, arXiv:2110.02861).
// For a CUDA device the same component is the one of the plugin's second library (cuda/component.cpp).
#pragma once

#include <memory>
#include <vector>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/verdict.h>
#include <switchyard/sdk/optimizer_sweep.h>

#include "block_kernels.h"
#include "optimizer_state.h"

namespace switchyard {

class Optim8Bit final : public Optimizer {
public:
    explicit Optim8Bit(const CreateInfo& info);

    static Verdict supports(const OptimizerRequest& request, const HostInfo& host, const Options& options);
    void bind(const std::vector<ParameterGroup>& groups) override {
        on_cuda_ ? on_cuda_->bind(groups) : state_.bind(groups);
    }
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) override;
    OptimizerState state() const override { return on_cuda_ ? on_cuda_->state() : state_.state(); }
    void load(const OptimizerState& state) override { on_cuda_ ? on_cuda_->load(state) : state_.load(state); }
    void* query(std::string_view id) override {
        return component_property(
            id, {{graph_capture_property, ""}, {computes_in_property, "fp32"}, {thread_counts_property, ""}});
    }

private:
    optim8bit::StepNumbers numbers_of(const HyperParameters& hyper, double lr_factor, float factor) const;
    void update(const StepTensor& tensor, const SweepPiece& piece, const optim8bit::StepNumbers& numbers);

    OptimizerKind algorithm_;
    bool unscale_;
    optim8bit::Chance chance_;
    optim8bit::State state_;
    std::unique_ptr<Optimizer> on_cuda_;  // or nullptr
};

}  // namespace switchyard
