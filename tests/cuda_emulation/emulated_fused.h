// The components of plugins/fused on the emulated device: their host code and their kernels, with tensors in ordinary memory.
#pragma once

#include <switchyard/conformance/verify.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/verdict.h>

#include "step_on_device.h"

namespace switchyard::test {

class EmulatedStep final : public Optimizer {
public:
    explicit EmulatedStep(const CreateInfo& info);

    static Verdict supports(const OptimizerRequest& request, const HostInfo& host, const Options& options);
    void bind(const std::vector<ParameterGroup>& groups) override { device_.bind(groups); }
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) override;
    OptimizerState state() const override { return device_.state(); }
    void load(const OptimizerState& state) override { device_.load(state); }

private:
    fused_cuda::StepOnDevice device_;
};

conformance::ComponentUnderTest emulated_fused(Kind kind);

}  // namespace switchyard::test
