// An optimizer's step as launches of the kernels in this folder. LibTorch on one side, no CUDA header on the
// other: where a stream comes from is the caller's, so the same code runs with the kernels emulated.
#pragma once

#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/sdk/cuda/optimizer_on_device.h>

#include "optimizer/optimizer_state.h"
#include "step_launch.h"

namespace switchyard::fused_cuda {

class StepOnDevice : public device::StepWithMoments<fused::MomentState> {
public:
    explicit StepOnDevice(const CreateInfo& info);

    StepResult step(const std::vector<ParameterGroup>& groups, const StepParams& params,
                    const device::Queue& queue);

private:
    void describe(const StepTensor& from, device::TensorOfStep& to,
                  std::vector<at::Tensor>& directions) const;
};

}  // namespace switchyard::fused_cuda
