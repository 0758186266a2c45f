#include <optional>

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>

#include "optimizer_kernels.h"

namespace switchyard {
namespace {

// `lr` is a double, or a tensor on the device.
template <class Rate>
void call(OptimizerKind algorithm, const HyperParameters& hyper, const Rate& lr, const GroupTensors& group) {
    const std::vector<at::Tensor> steps(group.targets.size(), group.step_count);
    const auto found_inf =
        group.found_inf.defined() ? std::optional<at::Tensor>(group.found_inf) : std::nullopt;
    if (algorithm == OptimizerKind::adamw) {
        at::_fused_adamw_(group.targets, group.gradients, group.first, group.second, {}, steps, lr,
                          hyper.beta1, hyper.beta2, hyper.weight_decay, hyper.eps, /*amsgrad=*/false,
                          /*maximize=*/false, {}, found_inf);
    } else if (algorithm == OptimizerKind::adam) {
        at::_fused_adam_(group.targets, group.gradients, group.first, group.second, {}, steps, lr,
                         hyper.beta1, hyper.beta2, hyper.weight_decay, hyper.eps, /*amsgrad=*/false,
                         /*maximize=*/false, {}, found_inf);
    } else {
        // Buffers start at zero, so that the first step needs no case of its own: momentum * 0 + g is g.
        at::_fused_sgd_(group.targets, group.gradients, group.first, hyper.weight_decay, hyper.momentum, lr,
                        /*dampening=*/0.0, hyper.nesterov, /*maximize=*/false, /*is_first_step=*/false, {},
                        found_inf);
    }
}

}  // namespace

void fused_step(OptimizerKind algorithm, const HyperParameters& hyper, GroupTensors& group) {
    if (!group.lr_factor.defined()) return call(algorithm, hyper, hyper.lr, group);
    if (group.lr_factor.is_cpu())
        return call(algorithm, hyper, hyper.lr * group.lr_factor.item<double>(), group);
    call(algorithm, hyper, group.lr_factor.mul(hyper.lr), group);
}

}  // namespace switchyard
