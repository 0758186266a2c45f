// An optimizer's step as launches of the kernels in this folder. LibTorch on one side, no CUDA header on the other: where a stream comes from is the caller's, so the same code runs with the
// kernels emulated.
#pragma once

#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/sdk/optimizer_on_device.h>

#include "optimizer_state.h"
#include "step_launch.h"

namespace switchyard::fused_cuda {

// Used from one thread at a time, like the component that has it.
class StepOnDevice {
public:
    StepOnDevice(OptimizerKind algorithm, bool unscale)
        : algorithm_(algorithm), unscale_(unscale), moments_(algorithm) {}

    void bind(const std::vector<ParameterGroup>& groups);
    StepResult step(const std::vector<ParameterGroup>& groups, const StepParams& params,
                    const device::Queue& queue);
    OptimizerState state() const;
    void load(const OptimizerState& state);

private:
    void describe(const StepTensor& from, device::TensorOfStep& to,
                  std::vector<at::Tensor>& directions) const;

    OptimizerKind algorithm_;
    bool unscale_;
    fused::MomentState moments_;
    device::OptimizerOnDevice on_device_;
};

}  // namespace switchyard::fused_cuda
