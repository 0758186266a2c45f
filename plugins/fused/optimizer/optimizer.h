// Every algorithm of the contract in one parallel sweep over all tensors, with unscaling, clipping and the
// rounding of master weights in it.
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

#include "optimizer_rows.h"
#include "optimizer_state.h"

namespace switchyard {

class FusedOptimizer final : public Optimizer, public ShardedOptimizer {
public:
    explicit FusedOptimizer(const CreateInfo& info);

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
        const bool muon = algorithm_ == OptimizerKind::muon;
        return component_property(
            id, {{graph_capture_property, ""},
                 {computes_in_property, "fp32"},
                 {thread_counts_property, muon ? "muon's products of matrices are LibTorch's" : ""}});
    }

    std::int64_t part_alignment() const override;
    void bind_parts(const std::vector<ParameterGroup>& groups,
                    const std::vector<ParameterPart>& parts) override;
    StepResult step_parts(std::vector<ParameterGroup>& groups, const StepParams& params,
                          double grad_norm) override {
        return step_with(groups, params, grad_norm);
    }

private:
    struct Sweep {
        std::vector<StepTensor> tensors;
        std::vector<SweepPiece> pieces;
        std::vector<fused::StepNumbers> numbers;  // of the tensors
    };

    // `known_norm`: of all gradients, which are finite; without it is taken here.
    StepResult step_with(std::vector<ParameterGroup>& groups, const StepParams& params,
                         std::optional<double> known_norm);
    fused::StepNumbers numbers_of(const HyperParameters& hyper, double lr_factor, float factor) const;
    template <class Kernel>
    void on_rows(const Sweep& sweep, const SweepPiece& piece, const Kernel& kernel) const;
    void elementwise(const Sweep& all) const;
    void lamb(const Sweep& all) const;
    void muon(const Sweep& all) const;
    void muon_matrix(const Sweep& all, std::size_t tensor) const;
    void round_by_chance(const Sweep& all) const;

    OptimizerKind algorithm_;
    bool unscale_;
    bool stochastic_;  // masters are rounded to bfloat16 by chance
    fused::MomentState state_;
    std::vector<ParameterPart> parts_;    // of the parameters; empty: they are whole
    std::unique_ptr<Optimizer> on_cuda_;  // or nullptr
};

}  // namespace switchyard
