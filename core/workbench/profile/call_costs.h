// What a call of a component has to compute and to move, whoever serves it: by the contract of its kind, from
// the tensors that went in and came out.
//
//   linear, loss with projection   products, as step_flops.h counts them; backward for each gradient needed
//   attention                      two products over the pairs that the mask leaves in; twice that backward
//   others                         a nominal number for each element, since their time is that of memory:
//                                  normalization 8 and 12 backward, activation 8 and 12, loss 6 and 3
//
// Forward reads its inputs and writes its outputs; backward reads both, the gradients in the outputs' place,
// and writes a gradient for each input that needs one.
#pragma once

#include <span>

#include <ATen/core/Tensor.h>

#include "core/kernel/runtime/autograd_bridge.h"
#include "core/workbench/profile/recording.h"

namespace switchyard::profile {

struct CallCosts {
    Cost forward, backward;
};

CallCosts costs_of(const runtime::BindingBase& binding, const runtime::KernelCall& call,
                   std::span<const at::Tensor* const> inputs, const runtime::Tensors& outputs);

// Pairs of a query and a key that it sees, of all sequences of a batch together, one head. Lengths that lie
// on a device are not asked for: then all keys count.
double visible_pairs(const AttentionParams& params, const at::Tensor& q, const at::Tensor& k);

}  // namespace switchyard::profile
