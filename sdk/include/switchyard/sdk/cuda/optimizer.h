// An optimizer on a CUDA device: a step of its plugin's own (optimizer_on_device.h) in LibTorch's current
// stream. For sources of a plugin's CUDA part (CUDA_WRAPPERS) and nothing else. Since 1.0.
#pragma once

#include <vector>

#include <c10/cuda/CUDAGuard.h>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/sdk/cuda/current_queue.h>

namespace switchyard::device {

// Step: a StepWithMoments that is made of a CreateInfo, with step(groups, params, queue).
template <class Step>
class CudaOptimizer final : public Optimizer {
public:
    explicit CudaOptimizer(const CreateInfo& info) : Optimizer(info), step_(info) {}

    void bind(const std::vector<ParameterGroup>& groups) override {
        step_.bind(groups);
        TORCH_CHECK_VALUE(step_.where().is_cuda(), step_.who(), " optimizer: the parameters are on ",
                          step_.where(), ", expected a CUDA device");
    }
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) override {
        const c10::cuda::CUDAGuard guard(step_.where());
        executed();
        return step_.step(groups, params, queues_.of(step_.where().index()));
    }
    OptimizerState state() const override { return step_.state(); }
    void load(const OptimizerState& state) override { step_.load(state); }

private:
    Step step_;
    CudaQueues queues_;
};

}  // namespace switchyard::device
