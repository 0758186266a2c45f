// An optimizer's step of a plugin's CUDA part (StepWithMoments of
// <switchyard/sdk/cuda/optimizer_on_device.h>) as a component for the CPU: its launches run on the emulator,
// tensors lie in ordinary memory.
#pragma once

#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/sdk/cuda/queue.h>

namespace switchyard::test {

template <class Step>
class EmulatedOptimizer : public Optimizer {
public:
    explicit EmulatedOptimizer(const CreateInfo& info) : Optimizer(info), step_(info) {}

    void bind(const std::vector<ParameterGroup>& groups) override { step_.bind(groups); }
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) override {
        executed();
        // Of one multiprocessor 8 blocks: they walk over several pieces each.
        return step_.step(groups, params, {nullptr, 1});
    }
    OptimizerState state() const override { return step_.state(); }
    void load(const OptimizerState& state) override { step_.load(state); }

private:
    Step step_;
};

}  // namespace switchyard::test
