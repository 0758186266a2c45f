// The component of plugins/optim8bit on the emulated device: its host code and its kernels, with tensors in ordinary memory.
#pragma once

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/verdict.h>

#include "step_on_device.h"

namespace switchyard::test {

class EmulatedOptim8Bit final : public Optimizer {
public:
    explicit EmulatedOptim8Bit(const CreateInfo& info) : Optimizer(info), device_(info) {}

    static Verdict supports(const OptimizerRequest& request, const HostInfo& host, const Options& options);
    void bind(const std::vector<ParameterGroup>& groups) override { device_.bind(groups); }
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) override {
        executed();
        return device_.step(groups, params, {nullptr, 1});
    }
    OptimizerState state() const override { return device_.state(); }
    void load(const OptimizerState& state) override { device_.load(state); }

private:
    optim8bit_cuda::StepOnDevice device_;
};

}  // namespace switchyard::test
