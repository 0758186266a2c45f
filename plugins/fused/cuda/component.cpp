// The components for a CUDA device, and what the plugin's base library asks this one for.
#include <stdexcept>

#include <c10/cuda/CUDAGuard.h>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/sdk/cuda/current_queue.h>
#include <switchyard/sdk/cuda/optimizer.h>
#include <switchyard/sdk/plugin.h>

#include "cuda/activation/activation_on_device.h"
#include "cuda/loss/loss_on_device.h"
#include "cuda/normalization/norm_on_device.h"
#include "cuda/optimizer/step_on_device.h"

namespace switchyard::fused_cuda {
namespace {

// A call runs on the device of x, in LibTorch's current stream there.
struct Place {
    c10::cuda::CUDAGuard guard;
    device::Queue queue;
};

template <class Interface>
class OnCuda : public Interface {
public:
    using Interface::Interface;

protected:
    Place place_of(const at::Tensor& x) {
        TORCH_CHECK_VALUE(x.defined() && x.is_cuda(), "fused: x is not on a CUDA device");
        return {c10::cuda::CUDAGuard(x.device()), queues_.of(x.device().index())};
    }

private:
    device::CudaQueues queues_;
};

class CudaNormalization final : public OnCuda<Normalization> {
public:
    using OnCuda::OnCuda;

    NormalizationOutputs forward(const NormalizationInputs& inputs, const NormalizationParams& params,
                                 Saved* saved) override {
        const Place place = place_of(inputs.x);
        executed();
        return normalize(inputs, params, saved, place.queue);
    }
    NormalizationGrads backward(const NormalizationParams& params, const Saved& saved,
                                const at::Tensor& grad_y, const at::Tensor& grad_sum,
                                const NormalizationNeeds& needs) override {
        return normalize_backward(params, saved, grad_y, grad_sum, needs, place_of(grad_y).queue);
    }
};

class CudaActivation final : public OnCuda<Activation> {
public:
    using OnCuda::OnCuda;

    at::Tensor forward(const ActivationInputs& inputs, const ActivationParams& params,
                       Saved* saved) override {
        const Place place = place_of(inputs.x);
        executed();
        return activate(inputs, params, saved, place.queue);
    }
    ActivationGrads backward(const ActivationParams& params, const Saved& saved, const at::Tensor& grad_y,
                             const ActivationNeeds& needs) override {
        return activate_backward(params, saved, grad_y, needs, place_of(grad_y).queue);
    }
};

class CudaLoss final : public OnCuda<Loss> {
public:
    using OnCuda::OnCuda;

    LossOutputs forward(const LossInputs& inputs, const LossParams& params, Saved* saved) override {
        const Place place = place_of(inputs.x);
        executed();
        return cross_entropy(inputs, params, saved, place.queue);
    }
    LossGrads backward(const LossParams& params, const Saved& saved, const at::Tensor& grad_loss,
                       const LossNeeds& needs) override {
        return cross_entropy_backward(params, saved, grad_loss, needs, place_of(grad_loss).queue);
    }
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
