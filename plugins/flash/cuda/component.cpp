// The component for a CUDA device, and what the plugin's base library asks this one for.
#include <c10/cuda/CUDAGuard.h>

#include <switchyard/interfaces/attention.h>
#include <switchyard/sdk/cuda/current_queue.h>
#include <switchyard/sdk/plugin.h>

#include "attention_on_device.h"

namespace switchyard::flash_cuda {
namespace {

class CudaFlashAttention final : public Attention {
public:
    using Attention::Attention;

    AttentionOutputs forward(const AttentionInputs& inputs, const AttentionParams& params,
                             Saved* saved) override {
        TORCH_CHECK_VALUE(inputs.q.defined() && inputs.q.is_cuda(), "attention: q is not on a CUDA device");
        const c10::cuda::CUDAGuard guard(inputs.q.device());
        executed();
        return device_.forward(inputs, params, saved, queues_.of(inputs.q.device().index()));
    }

    AttentionGrads backward(const AttentionParams& params, const Saved& saved, const at::Tensor& grad_out,
                            const AttentionNeeds& needs) override {
        const c10::cuda::CUDAGuard guard(grad_out.device());
        return device_.backward(params, saved, grad_out, needs, queues_.of(grad_out.device().index()));
    }

private:
    AttentionOnDevice device_;
    device::CudaQueues queues_;
};

}  // namespace
}  // namespace switchyard::flash_cuda

SWITCHYARD_EXPORT switchyard::Attention* switchyard_plugin_cuda_v1(const switchyard::CreateInfo& info) {
    return new switchyard::flash_cuda::CudaFlashAttention(info);
}
