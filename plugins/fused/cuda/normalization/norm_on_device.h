// Normalization as launches of the kernels in this folder. LibTorch on one side, no CUDA header on the other:
// where a stream comes from is the caller's, so the same code runs with the kernels emulated.
#pragma once

#include <switchyard/interfaces/normalization.h>
#include <switchyard/sdk/cuda/queue.h>

namespace switchyard::fused_cuda {

NormalizationOutputs normalize(const NormalizationInputs& inputs, const NormalizationParams& params,
                               Saved* saved, const device::Queue& queue);
NormalizationGrads normalize_backward(const NormalizationParams& params, const Saved& saved,
                                      const at::Tensor& grad_y, const at::Tensor& grad_sum,
                                      const NormalizationNeeds& needs, const device::Queue& queue);

}  // namespace switchyard::fused_cuda
