// The components for a CUDA device, and what the plugin's base library asks this one for.
#include <stdexcept>

#include <c10/cuda/CUDAGuard.h>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/sdk/cuda_optimizer.h>
#include <switchyard/sdk/cuda_queue.h>
#include <switchyard/sdk/plugin.h>

#include "activation_on_device.h"
#include "loss_on_device.h"
#include "norm_on_device.h"
#include "step_on_device.h"

namespace switchyard::fused_cuda {
namespace {

// The device of x is the call's: its stream is LibTorch's current one there.
device::Queue queue_for(device::CudaQueues& queues, const at::Tensor& x) {
    TORCH_CHECK_VALUE(x.defined() && x.is_cuda(), "fused: x is not on a CUDA device");
    return queues.of(x.device().index());
}

class CudaNormalization final : public Normalization {
public:
    using Normalization::Normalization;

    NormalizationOutputs forward(const NormalizationInputs& inputs, const NormalizationParams& params,
                                 Saved* saved) override {
        const auto queue = queue_for(queues_, inputs.x);
        const c10::cuda::CUDAGuard guard(inputs.x.device());
        executed();
        return normalize(inputs, params, saved, queue);
    }
    NormalizationGrads backward(const NormalizationParams& params, const Saved& saved,
                                const at::Tensor& grad_y, const at::Tensor& grad_sum,
                                const NormalizationNeeds& needs) override {
        const c10::cuda::CUDAGuard guard(grad_y.device());
        return normalize_backward(params, saved, grad_y, grad_sum, needs, queue_for(queues_, grad_y));
    }

private:
    device::CudaQueues queues_;
};

class CudaActivation final : public Activation {
public:
    using Activation::Activation;

    at::Tensor forward(const ActivationInputs& inputs, const ActivationParams& params,
                       Saved* saved) override {
        const auto queue = queue_for(queues_, inputs.x);
        const c10::cuda::CUDAGuard guard(inputs.x.device());
        executed();
        return activate(inputs, params, saved, queue);
    }
    ActivationGrads backward(const ActivationParams& params, const Saved& saved, const at::Tensor& grad_y,
                             const ActivationNeeds& needs) override {
        const c10::cuda::CUDAGuard guard(grad_y.device());
        return activate_backward(params, saved, grad_y, needs, queue_for(queues_, grad_y));
    }

private:
    device::CudaQueues queues_;
};

class CudaLoss final : public Loss {
public:
    using Loss::Loss;

    LossOutputs forward(const LossInputs& inputs, const LossParams& params, Saved* saved) override {
        const auto queue = queue_for(queues_, inputs.x);
        const c10::cuda::CUDAGuard guard(inputs.x.device());
        executed();
        return cross_entropy(inputs, params, saved, queue);
    }
    LossGrads backward(const LossParams& params, const Saved& saved, const at::Tensor& grad_loss,
                       const LossNeeds& needs) override {
        const c10::cuda::CUDAGuard guard(grad_loss.device());
        return cross_entropy_backward(params, saved, grad_loss, needs, queue_for(queues_, grad_loss));
    }

private:
    device::CudaQueues queues_;
};

}  // namespace
}  // namespace switchyard::fused_cuda

SWITCHYARD_EXPORT switchyard::Component* switchyard_plugin_cuda_v1(switchyard::Kind kind,
                                                                   const switchyard::CreateInfo& info) {
    using namespace switchyard;
    switch (kind) {
        case Kind::normalization:
            return new fused_cuda::CudaNormalization(info);
        case Kind::activation:
            return new fused_cuda::CudaActivation(info);
        case Kind::loss:
            return new fused_cuda::CudaLoss(info);
        case Kind::optimizer:
            return new device::CudaOptimizer<fused_cuda::StepOnDevice>(info);
        default:
            throw std::invalid_argument("fused: no component of this kind on cuda");
    }
}
