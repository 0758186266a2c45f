// Cross-entropy as launches of the kernels in this folder, on given logits or with the output projection by
// LibTorch's products, some classes of all rows at a time. LibTorch on one side, no CUDA header on the other.
// Nothing waits for the device.
#pragma once

#include <switchyard/interfaces/loss.h>
#include <switchyard/sdk/cuda/queue.h>

namespace switchyard::fused_cuda {

LossOutputs cross_entropy(const LossInputs& inputs, const LossParams& params, Saved* saved,
                          const device::Queue& queue);
LossGrads cross_entropy_backward(const LossParams& params, const Saved& saved, const at::Tensor& grad_loss,
                                 const LossNeeds& needs, const device::Queue& queue);

}  // namespace switchyard::fused_cuda
