// Optimizers by LibTorch's multi-tensor kernels, with unscaling and clipping as GradScaler and
// clip_grad_norm_ call them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/sharded_optimizer.h>
#include <switchyard/interfaces/verdict.h>

#include "optimizer_kernels.h"
#include "optimizer_state.h"

namespace switchyard {

class TorchOptimizer final : public Optimizer, public ShardedOptimizer {
public:
    explicit TorchOptimizer(const CreateInfo& info);
    void* query(std::string_view id) override {
        if (id == sharded_optimizer_interface) return static_cast<ShardedOptimizer*>(this);
        return component_property(
            id, {{graph_capture_property,
                  fused_ ? ""
                         : "the foreach kernels read the step count on the host; the variant "
                           "fused does not"}});
    }

    static Verdict supports(const OptimizerRequest& request, const HostInfo& host, const Options& options,
                            std::string_view variant);
    void bind(const std::vector<ParameterGroup>& groups) override;
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) override {
        return step_with(groups, params, std::nullopt);
    }
    OptimizerState state() const override { return state_.state(); }
    void load(const OptimizerState& state) override { state_.load(state); }

    std::int64_t part_alignment() const override { return vector_alignment; }
    void bind_parts(const std::vector<ParameterGroup>& groups, const std::vector<ParameterPart>&) override {
        state_.bind(groups);
    }
    StepResult step_parts(std::vector<ParameterGroup>& groups, const StepParams& params,
                          double grad_norm) override {
        return step_with(groups, params, grad_norm);
    }

private:
    // `known_norm`: of all gradients, which are finite; without it is taken here.
    StepResult step_with(std::vector<ParameterGroup>& groups, const StepParams& params,
                         std::optional<double> known_norm);
    bool asks_unscale(const StepParams& params) const {
        return unscale_ || params.grad_scale != 1.0 || params.grad_scale_tensor.defined();
    }
    std::vector<GroupTensors> collect(std::vector<ParameterGroup>& groups);
    StepResult prepare_gradients(std::vector<GroupTensors>& tensors, const StepParams& params,
                                 std::optional<double> known_norm, at::Tensor& found_inf);

    OptimizerKind algorithm_;
    bool fused_;
    bool unscale_;
    TorchOptimizerState state_;
};

}  // namespace switchyard
