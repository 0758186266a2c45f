// A step with 8-bit moments as launches of the kernels in this folder. LibTorch on one side, no CUDA header
// on the other: where a stream comes from is the caller's, so the same code runs with the kernels emulated.
#pragma once

#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/sdk/cuda/optimizer_on_device.h>

#include "optimizer_state.h"
#include "step_launch.h"

namespace switchyard::optim8bit_cuda {

class StepOnDevice : public device::StepWithMoments<optim8bit::State> {
public:
    explicit StepOnDevice(const CreateInfo& info);

    void bind(const std::vector<ParameterGroup>& groups);
    StepResult step(const std::vector<ParameterGroup>& groups, const StepParams& params,
                    const device::Queue& queue);

private:
    void describe(const StepTensor& from, device::TensorOfStep& to);

    Codes codes_;
    at::Tensor books_;
};

}  // namespace switchyard::optim8bit_cuda
