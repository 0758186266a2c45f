#include <cmath>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sign.h>
#include <ATen/ops/_foreach_sqrt.h>

#include "optimizer_kernels.h"

namespace switchyard {
namespace {

using Tensors = std::vector<at::Tensor>;

void decay(const HyperParameters& hyper, double lr, const GroupTensors& group) {
    if (hyper.weight_decay != 0.0) at::_foreach_mul_(group.targets, 1.0 - lr * hyper.weight_decay);
}

// m = lerp(m, g, 1 - beta1);  v = beta2 v + (1 - beta2) g^2;  w -= lr m^ / (sqrt(v^) + eps)
void adam_update(const HyperParameters& hyper, double lr, double step, const GroupTensors& group,
                 const Tensors& gradients) {
    at::_foreach_lerp_(group.first, gradients, 1.0 - hyper.beta1);
    at::_foreach_mul_(group.second, hyper.beta2);
    at::_foreach_addcmul_(group.second, gradients, gradients, 1.0 - hyper.beta2);
    auto denominators = at::_foreach_sqrt(group.second);
    at::_foreach_div_(denominators, std::sqrt(1.0 - std::pow(hyper.beta2, step)));
    at::_foreach_add_(denominators, hyper.eps);
    at::_foreach_addcdiv_(group.targets, group.first, denominators,
                          -lr / (1.0 - std::pow(hyper.beta1, step)));
}

// L2: g + weight_decay * w
Tensors with_l2(const HyperParameters& hyper, const GroupTensors& group) {
    if (hyper.weight_decay == 0.0) return group.gradients;
    return at::_foreach_add(group.gradients, group.targets, hyper.weight_decay);
}

void sgd(const HyperParameters& hyper, double lr, const GroupTensors& group) {
    auto gradients = with_l2(hyper, group);
    if (hyper.momentum != 0.0) {
        at::_foreach_mul_(group.first, hyper.momentum);
        at::_foreach_add_(group.first, gradients, 1.0);
        gradients = hyper.nesterov ? at::_foreach_add(gradients, group.first, hyper.momentum) : group.first;
    }
    at::_foreach_add_(group.targets, gradients, -lr);
}

void lion(const HyperParameters& hyper, double lr, const GroupTensors& group) {
    decay(hyper, lr, group);
    auto updates = at::_foreach_lerp(group.first, group.gradients, 1.0 - hyper.beta1);
    at::_foreach_sign_(updates);
    at::_foreach_add_(group.targets, updates, -lr);
    at::_foreach_lerp_(group.first, group.gradients, 1.0 - hyper.beta2);
}

}  // namespace

void foreach_step(OptimizerKind algorithm, const HyperParameters& hyper, GroupTensors& group) {
    const double lr = hyper.lr * (group.lr_factor.defined() ? group.lr_factor.item<double>() : 1.0);
    switch (algorithm) {
        case OptimizerKind::adamw:
            decay(hyper, lr, group);
            return adam_update(hyper, lr, group.step_count.item<double>(), group, group.gradients);
        case OptimizerKind::adam:
            return adam_update(hyper, lr, group.step_count.item<double>(), group, with_l2(hyper, group));
        case OptimizerKind::sgd:
            return sgd(hyper, lr, group);
        default:
            return lion(hyper, lr, group);
    }
}

}  // namespace switchyard
