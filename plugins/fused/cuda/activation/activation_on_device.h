// Activation as launches of the kernels in this folder. LibTorch on one side, no CUDA header on the other.
#pragma once

#include <switchyard/interfaces/activation.h>
#include <switchyard/sdk/cuda/queue.h>

namespace switchyard::fused_cuda {

at::Tensor activate(const ActivationInputs& inputs, const ActivationParams& params, Saved* saved,
                    const device::Queue& queue);
ActivationGrads activate_backward(const ActivationParams& params, const Saved& saved,
                                  const at::Tensor& grad_y, const ActivationNeeds& needs,
                                  const device::Queue& queue);

}  // namespace switchyard::fused_cuda
