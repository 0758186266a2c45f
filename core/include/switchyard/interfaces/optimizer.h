// Optimizer: one step over all parameter groups, with unscaling, clipping and the non-finite check folded in.
//
// Step t (1-based), gradient g, all in float32 at least (master weights where they are):
//     g = gradient / grad_scale
//     g = g * min(1, max_grad_norm / (||all g||_2 + 1e-6)) if clipping (torch.nn.utils.clip_grad_norm_)
//     adamw  Loshchilov & Hutter 2019 (arXiv:1711.05101): decay decoupled, w -= lr * weight_decay * w
//     adam   Kingma & Ba 2015 (arXiv:1412.6980), L2: g += weight_decay * w
//     sgd    with momentum and L2, as torch.optim.SGD (first step: buffer = g), optional Nesterov
//     lion   Chen et al. 2023 (arXiv:2302.06675)
//     lamb   You et al. 2020 (arXiv:1904.00962)
//     muon   Jordan et al. 2024 (kellerjordan.github.io/posts/muon)
//     custom (OptimizerRequest::custom) is what its component says, with lr and weight_decay of each group as
//            its own; what else it needs are options of the component. With lr = 0 no parameter changes.
// Where unscaling or clipping is asked for and any gradient is not finite, nothing is changed - no parameter,
// no state, no step count - and `found_inf` says so. A plain step need not look: that would be a pass over
// the gradients of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/component.h>

namespace switchyard {

struct Parameter {
    std::string name;     // unique, e.g. "encoder.0.attention.q.weight"; state is saved under it
    at::Tensor value;     // updated in place
    at::Tensor gradient;  // shape of value; undefined: the parameter is skipped in this step
    at::Tensor master;    // float32 copy that the step updates and rounds into value, or undefined
};

struct HyperParameters {
    double lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0.0;
    double momentum = 0.0;  // sgd, muon
    bool nesterov = false;
};

struct ParameterGroup {
    std::string name;
    HyperParameters hyper;
    std::vector<Parameter> parameters;
};

struct StepParams {
    double max_grad_norm = 0.0;  // 0: no clipping
    double grad_scale = 1.0;     // gradients are divided by it
    // On a device, for captured graphs: where defined, float32 scalars that replace the numbers above and
    // hyper.lr's factor 1.
    at::Tensor grad_scale_tensor;
    at::Tensor lr_factor_tensor;
};

struct StepResult {
    // float32 scalar, unscaled, before clipping; undefined unless clipping or unscaling was asked for.
    at::Tensor grad_norm;
    // float32 scalar, 1 if a gradient was not finite; undefined unless unscaling was asked for.
    at::Tensor found_inf;
};

// One named tensor of the state of one parameter, e.g. {"encoder.0...", "exp_avg", [..]}. In the form in
// which the component keeps it.
struct OptimizerStateEntry {
    std::string parameter;
    std::string key;
    at::Tensor value;
};

struct OptimizerState {
    std::string algorithm;  // as formula_name has it: "adamw", "custom:adafactor"
    std::int64_t step = 0;
    std::vector<OptimizerStateEntry> entries;
};

class Optimizer : public Component {
public:
    using Component::Component;

    // Once, before the first step: shapes, dtypes and order of the parameters. Later calls of `step` pass the
    // same parameters in the same order.
    // Throws std::invalid_argument naming the group or parameter: empty group, two of one name, sparse or
    // integer value.
    virtual void bind(const std::vector<ParameterGroup>& groups) = 0;

    virtual StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) = 0;

    // Tensors are not copied: whoever keeps them over a step clones them.
    virtual OptimizerState state() const = 0;

    // Replaces the state. Throws std::invalid_argument saying which entry is missing, extra or of another
    // shape or algorithm; then nothing has changed.
    virtual void load(const OptimizerState& state) = 0;
};

}  // namespace switchyard
