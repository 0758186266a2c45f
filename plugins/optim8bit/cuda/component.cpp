// The component for a CUDA device, and what the plugin's base library asks this one for.
#include <c10/cuda/CUDAGuard.h>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/sdk/cuda_queue.h>
#include <switchyard/sdk/plugin.h>

#include "step_on_device.h"

namespace switchyard::optim8bit_cuda {
namespace {

class CudaStep final : public Optimizer {
public:
    explicit CudaStep(const CreateInfo& info) : Optimizer(info), step_(info) {}

    void bind(const std::vector<ParameterGroup>& groups) override {
        step_.bind(groups);
        device_ = groups.front().parameters.front().value.device();
        TORCH_CHECK_VALUE(device_.is_cuda(), "optim8bit optimizer: the parameters are on ", device_,
                          ", expected a CUDA device");
    }
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) override {
        const c10::cuda::CUDAGuard guard(device_);
        executed();
        return step_.step(groups, params, queues_.of(device_.index()));
    }
    OptimizerState state() const override { return step_.state(); }
    void load(const OptimizerState& state) override { step_.load(state); }

private:
    StepOnDevice step_;
    c10::Device device_ = c10::Device(c10::kCUDA, 0);
    device::CudaQueues queues_;
};

}  // namespace
}  // namespace switchyard::optim8bit_cuda

SWITCHYARD_EXPORT switchyard::Optimizer* switchyard_plugin_cuda_v1(const switchyard::CreateInfo& info) {
    return new switchyard::optim8bit_cuda::CudaStep(info);
}
