// AdamW and Lion with moments in 8 bits (Dettmers et al. 2022, arXiv:2110.02861).
// For a CUDA device the same component is the one of the plugin's second library (cuda/component.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/sharded_optimizer.h>
#include <switchyard/interfaces/verdict.h>
#include <switchyard/sdk/optimizer_sweep.h>

#include "block_kernels.h"
#include "optimizer_state.h"

namespace switchyard {

class Optim8Bit final : public Optimizer, public ShardedOptimizer {
public:
    explicit Optim8Bit(const CreateInfo& info);

    static Verdict supports(const OptimizerRequest& request, const HostInfo& host, const Options& options);
    void bind(const std::vector<ParameterGroup>& groups) override {
        on_cuda_ ? on_cuda_->bind(groups) : state_.bind(groups);
    }
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) override {
        return on_cuda_ ? on_cuda_->step(groups, params) : step_with(groups, params, std::nullopt);
    }
    OptimizerState state() const override { return on_cuda_ ? on_cuda_->state() : state_.state(); }
    void load(const OptimizerState& state) override { on_cuda_ ? on_cuda_->load(state) : state_.load(state); }
    void* query(std::string_view id) override {
        if (id == sharded_optimizer_interface)
            return on_cuda_ ? nullptr : static_cast<ShardedOptimizer*>(this);
        return component_property(
            id, {{graph_capture_property, ""}, {computes_in_property, "fp32"}, {thread_counts_property, ""}});
    }

    std::int64_t part_alignment() const override { return optim8bit::block; }
    void bind_parts(const std::vector<ParameterGroup>& groups,
                    const std::vector<ParameterPart>& parts) override {
        state_.bind(groups, parts);
    }
    StepResult step_parts(std::vector<ParameterGroup>& groups, const StepParams& params,
                          double grad_norm) override {
        return step_with(groups, params, grad_norm);
    }

private:
    // `known_norm`: of all gradients, which are finite; without it is taken here.
    StepResult step_with(std::vector<ParameterGroup>& groups, const StepParams& params,
                         std::optional<double> known_norm);
    optim8bit::StepNumbers numbers_of(const HyperParameters& hyper, double lr_factor, float factor) const;
    void update(const StepTensor& tensor, const SweepPiece& piece, const optim8bit::StepNumbers& numbers);

    OptimizerKind algorithm_;
    bool unscale_;
    optim8bit::Chance chance_;
    optim8bit::State state_;
    std::unique_ptr<Optimizer> on_cuda_;  // or nullptr
};

}  // namespace switchyard
