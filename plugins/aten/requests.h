// What both components ask of a request and of tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/request.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard::aten {

// A CUDA device of 8.0 or newer, 16-bit floats, one head size that is a multiple of 8 and at most `most_dim`,
// no pages, and no deterministic gradients: both libraries add to them atomically.
void require_common(Verdict& verdict, const AttentionRequest& request, const HostInfo& host,
                    std::int64_t most_dim);

// With -infinity where a query sees no key, which LibTorch marks with +infinity.
at::Tensor contract_lse(const at::Tensor& lse);

}  // namespace switchyard::aten
