// The plain reference of every optimizer: a loop over parameters.
#pragma once

#include <vector>

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/verdict.h>
#include <switchyard/reference/optimizer.h>

namespace switchyard {

class NaiveOptimizer final : public Optimizer {
public:
    explicit NaiveOptimizer(const CreateInfo& info);

    static Verdict supports(const OptimizerRequest& request, const HostInfo& host, const Options& options);
    void bind(const std::vector<ParameterGroup>& groups) override { steps_.bind(groups); }
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) override;
    OptimizerState state() const override { return steps_.state(); }
    void load(const OptimizerState& state) override { steps_.load(state); }

private:
    bool unscale_;
    reference::OptimizerSteps steps_;
};

}  // namespace switchyard
