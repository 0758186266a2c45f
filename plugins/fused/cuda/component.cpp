// The components for a CUDA device, and what the plugin's base library asks this one for.
#include <stdexcept>

#include <c10/cuda/CUDAGuard.h>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/sdk/cuda_queue.h>
#include <switchyard/sdk/plugin.h>

#include "step_on_device.h"

namespace switchyard::fused_cuda {
namespace {

const OptimizerRequest& request_of(const CreateInfo& info) {
    return *static_cast<const OptimizerRequest*>(info.request);
}

class CudaStep final : public Optimizer {
public:
    explicit CudaStep(const CreateInfo& info)
        : Optimizer(info), step_(request_of(info).algorithm, request_of(info).unscale) {}

    void bind(const std::vector<ParameterGroup>& groups) override {
        step_.bind(groups);
        device_ = groups.front().parameters.front().value.device();
        TORCH_CHECK_VALUE(device_.is_cuda(), "fused optimizer: the parameters are on ", device_,
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
}  // namespace switchyard::fused_cuda

SWITCHYARD_EXPORT switchyard::Component* switchyard_plugin_cuda_v1(switchyard::Kind kind,
                                                                   const switchyard::CreateInfo& info) {
    using namespace switchyard;
    switch (kind) {
        case Kind::optimizer:
            return new fused_cuda::CudaStep(info);
        default:
            throw std::invalid_argument("fused: no component of this kind on cuda");
    }
}
