// The plain reference of every optimizer: a loop over parameters.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/sharded_optimizer.h>
#include <switchyard/interfaces/verdict.h>
#include <switchyard/reference/optimizer.h>

namespace switchyard {

class NaiveOptimizer final : public Optimizer, public ShardedOptimizer {
public:
    explicit NaiveOptimizer(const CreateInfo& info);

    static Verdict supports(const OptimizerRequest& request, const HostInfo& host, const Options& options);
    void bind(const std::vector<ParameterGroup>& groups) override { steps_.bind(groups); }
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) override;
    OptimizerState state() const override { return steps_.state(); }
    void load(const OptimizerState& state) override { steps_.load(state); }
    void* query(std::string_view id) override {
        return id == sharded_optimizer_interface ? static_cast<ShardedOptimizer*>(this) : nullptr;
    }

    std::int64_t part_alignment() const override {
        return steps_values_alone(algorithm_) ? vector_alignment : 0;
    }
    void bind_parts(const std::vector<ParameterGroup>& groups, const std::vector<ParameterPart>&) override {
        steps_.bind(groups);
    }
    StepResult step_parts(std::vector<ParameterGroup>& groups, const StepParams& params,
                          double grad_norm) override;

private:
    StepResult asked_for(StepResult result, const StepParams& params) const;

    OptimizerKind algorithm_;
    bool unscale_;
    reference::OptimizerSteps steps_;
};

}  // namespace switchyard
