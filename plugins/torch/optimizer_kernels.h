// One group's step by LibTorch's kernels. Gradients are unscaled and clipped already.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/optimizer.h>

namespace switchyard {

// One entry for each parameter that has a gradient, all of one dtype.
struct GroupTensors {
    std::vector<at::Tensor> targets, gradients, first, second;
    std::vector<at::Tensor> masters,
        rounded;            // those of the targets that are masters, and the values to round them into
    at::Tensor step_count;  // float32 scalar, of this step
    at::Tensor found_inf;   // float32 scalar or undefined; a fused kernel does nothing where it is 1
    at::Tensor lr_factor;   // float32 scalar on a device, or undefined
};

// at::_fused_adamw_, _fused_adam_, _fused_sgd_: adamw, adam and sgd.
void fused_step(OptimizerKind algorithm, const HyperParameters& hyper, GroupTensors& group);

// at::_foreach_* in the order of torch.optim's own multi-tensor steps: adamw, adam, sgd and lion.
void foreach_step(OptimizerKind algorithm, const HyperParameters& hyper, GroupTensors& group);

}  // namespace switchyard
