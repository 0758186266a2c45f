// A step with 8-bit moments as launches of the kernels in this folder. LibTorch on one side, no CUDA header on the other: where a stream comes from is the caller's, so the same code runs with
// the kernels emulated.
#pragma once

#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/sdk/optimizer_on_device.h>

#include "optimizer_state.h"
#include "step_launch.h"

namespace switchyard::optim8bit_cuda {

// Used from one thread at a time, like the component that has it.
class StepOnDevice {
public:
    explicit StepOnDevice(const CreateInfo& info);

    void bind(const std::vector<ParameterGroup>& groups);
    StepResult step(const std::vector<ParameterGroup>& groups, const StepParams& params,
                    const device::Queue& queue);
    OptimizerState state() const;
    void load(const OptimizerState& state);

private:
    void describe(const StepTensor& from, device::TensorOfStep& to);

    OptimizerKind algorithm_;
    bool unscale_;
    Codes codes_;
    optim8bit::State moments_;
    device::OptimizerOnDevice on_device_;
    at::Tensor books_;
};

}  // namespace switchyard::optim8bit_cuda
