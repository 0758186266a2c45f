#include "core/kernel/runtime/operations/loss_op.h"

#include <array>
#include <cmath>

#include <ATen/TensorOperators.h>

#include <switchyard/reference/linear.h>
#include <switchyard/reference/loss.h>
#include "core/kernel/runtime/operation_observer.h"
#include "core/kernel/runtime/operations/check.h"
#include "core/kernel/runtime/operations/operation_call.h"

namespace switchyard::runtime {
namespace {

constexpr std::array<const char*, 4> loss_inputs{"x", "weight", "bias", "targets"};
constexpr std::array<const char*, 2> loss_outputs{"loss", "count"};

bool gives_up(const LossInputs& inputs, const LossParams& params) {
    return params.may_overwrite_logits && !inputs.weight.defined();
}

bool shares_memory(const at::Tensor& a, const at::Tensor& b) {
    return a.defined() && b.defined() && a.is_alias_of(b);
}

// To autograd: whoever has saved the tensor before must not use it any more.
void changed(const at::Tensor& tensor) { tensor.unsafeGetTensorImpl()->bump_version(); }

struct LossTraits {
    using Interface = Loss;
    using Inputs = LossInputs;
    using Params = LossParams;
    using KeptParams = LossParams;

    static constexpr runtime::Signature signature{"loss.forward", "loss.backward", loss_inputs, loss_outputs,
                                                  0b01};

    static std::array<const at::Tensor*, 4> pointers(const Inputs& inputs) {
        return {&inputs.x, &inputs.weight, &inputs.bias, &inputs.targets};
    }
    static Inputs inputs_of(const Tensors& list) { return {list[0], list[1], list[2], list[3]}; }

    static void forward(Loss& component, const Inputs& inputs, const Params& params, Tensors& outputs,
                        Saved* saved) {
        LossOutputs made = component.forward(inputs, params, saved);
        if (saved != nullptr && gives_up(inputs, params)) changed(inputs.x);
        outputs.push_back(std::move(made.loss));
        outputs.push_back(std::move(made.count));
    }
    static Tensors backward(Loss& component, const Params& params, const Saved& saved, const Tensors& grads,
                            Needs needs) {
        LossGrads made = component.backward(params, saved, grads[0], {needs[0], needs[1], needs[2]});
        for (const Saved::Entry& entry : saved.tensors)
            if (params.may_overwrite_logits && shares_memory(entry.tensor, made.x)) changed(entry.tensor);
        return {std::move(made.x), std::move(made.weight), std::move(made.bias), at::Tensor()};
    }
    static Tensors reference(const Inputs& inputs, const Params& params) {
        LossOutputs made = reference::loss(inputs, params);
        return {std::move(made.loss), std::move(made.count)};
    }
    static std::uint64_t versions(const Params&) { return 0; }
};

// On the CPU, where they can be read without waiting.
void check_targets(const Binding<Loss>& binding, const at::Tensor& targets, std::int64_t classes,
                   std::int64_t ignore) {
    if (!targets.is_cpu()) return;
    const auto dense = targets.expect_contiguous();
    const auto* const values = dense->const_data_ptr<std::int64_t>();
    for (std::int64_t row = 0; row < targets.numel(); ++row) {
        const std::int64_t target = values[row];
        if ((target >= 0 && target < classes) || target == ignore) [[likely]]
            continue;
        refuse(binding, "targets[", row, "] is ", target, ", expected 0..", classes - 1, " or ignore_index (",
               ignore, ")");
    }
}

void check_projection(const Binding<Loss>& binding, const LossInputs& in) {
    if (!in.weight.defined()) {
        require(binding, !in.bias.defined(), "a bias is given without the weight of a projection");
        return;
    }
    if (in.weight.dim() != 2 || in.weight.size(1) != in.x.size(1)) [[unlikely]] {
        refuse(binding, "weight must be [classes, ", in.x.size(1), "], the width of x ", in.x.sizes(),
               ", got ", in.weight.sizes());
    }
    if (in.bias.defined() && (in.bias.dim() != 1 || in.bias.size(0) != in.weight.size(0))) [[unlikely]] {
        refuse(binding, "bias must be [", in.weight.size(0), "], the classes of the weight, got ",
               in.bias.sizes());
    }
}

// Likewise, of targets that are floating: what is neither NaN nor one that the loss is made for.
void check_values(const Binding<Loss>& binding, const at::Tensor& targets, LossKind loss) {
    if (!targets.is_cpu() || targets.scalar_type() != at::kFloat) return;
    const bool probabilities = loss == LossKind::binary_cross_entropy;
    const auto dense = targets.expect_contiguous();
    const auto* const values = dense->const_data_ptr<float>();
    for (std::int64_t i = 0; i < targets.numel(); ++i) {
        const float value = values[i];
        if (std::isnan(value) || (probabilities ? value >= 0.0F && value <= 1.0F : std::isfinite(value)))
            [[likely]]
            continue;
        const auto columns = targets.size(1);
        refuse(binding, "targets[", i / columns, ", ", i % columns, "] is ", value, ", expected ",
               probabilities ? "0..1" : "a finite number", " or NaN (no target)");
    }
}

void check_value_targets(const Binding<Loss>& binding, const LossInputs& in, const LossParams& params) {
    const auto type = in.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    require(binding,
            in.targets.defined() && in.targets.scalar_type() == type && in.targets.sizes() == in.x.sizes(),
            "targets of ", name(params.loss), " must be ", type, " ", in.x.sizes(), ", one a value of x");
    require(binding, !in.weight.defined() && !in.bias.defined(), name(params.loss), " has no projection");
    check_values(binding, in.targets, params.loss);
}

void check_class_targets(const Binding<Loss>& binding, const LossInputs& in, const LossParams& params) {
    require(binding,
            in.targets.defined() && in.targets.scalar_type() == at::kLong && in.targets.dim() == 1 &&
                in.targets.size(0) == in.x.size(0),
            "targets must be int64 [", in.x.size(0), "], one a row of x");
    check_projection(binding, in);
    check_targets(binding, in.targets, in.weight.defined() ? in.weight.size(0) : in.x.size(1),
                  params.ignore_index);
}

void check(const Binding<Loss>& binding, const LossInputs& in, const LossParams& params) {
    const LossRequest& request = binding.request();
    require_tensor(binding, "x", in.x);
    require(binding, in.x.dim() == 2, "x must be [rows, classes], or [rows, width] with a projection, got ",
            in.x.sizes());
    require(binding, params.loss == request.loss, "bound for ", name(request.loss), ", called for ",
            name(params.loss));
    if (has_value_targets(request)) {
        check_value_targets(binding, in, params);
    } else {
        check_class_targets(binding, in, params);
    }
    const std::int64_t classes = in.weight.defined() ? in.weight.size(0) : in.x.size(1);
    require_within(binding, "rows", in.x.size(0), request.rows);
    require_within(binding, "classes", classes, request.classes);
    require(binding, params.label_smoothing == 0.0 || request.label_smoothing > 0.0, "label_smoothing is ",
            params.label_smoothing, ", bound for calls without it");
    require(binding, params.z_loss == 0.0 || request.z_loss > 0.0, "z_loss is ", params.z_loss,
            ", bound for calls without it");
    require(binding, !params.may_overwrite_logits || request.may_overwrite_logits,
            "the logits are given up, bound for calls that keep them");
    require(binding, (params.reduction == Reduction::none) == request.per_row,
            request.per_row ? "bound for one loss a row, called for their sum or mean"
                            : "bound for the sum or mean of the rows' losses, called for one a row");
}

LossOutputs call_component(const std::shared_ptr<Binding<Loss>>& binding, const LossInputs& inputs,
                           const LossParams& params) {
    const LossRequest& request = binding->request();
    require(*binding, inputs.weight.defined() == request.projection,
            request.projection ? "bound for a fused projection, called without its weight"
                               : "bound for logits, called with the weight of a projection");
    require(*binding, !inputs.bias.defined() || request.projection_bias,
            "a bias is given, bound for calls without it");
    LossParams given = params;
    // Who looks at the call when it is done is to see the logits.
    if (runtime::call_observer() != nullptr) given.may_overwrite_logits = false;
    Tensors outputs;
    call<LossTraits>(binding, inputs, given, outputs);
    const std::int64_t values = params.reduction == Reduction::none ? inputs.x.size(0) : 1;
    if (!outputs[0].defined() || outputs[0].numel() != values || !outputs[1].defined() ||
        outputs[1].numel() != 1) {
        throw runtime::PluginError(binding->site("loss.forward"),
                                   "returned a loss or count of another shape than asked for");
    }
    return {std::move(outputs[0]), std::move(outputs[1])};
}

}  // namespace

LossOp::LossOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed)
    : binding_(std::make_shared<Binding<Loss>>(loaded, std::move(info))) {
    check_binding(*binding_, composed, {"projection"});
    compose_projection_ = has_part(composed, "projection");
}

LossOutputs LossOp::operator()(const LossInputs& inputs, const LossParams& params) const {
    if (auto* const observer = operation_observer(); observer != nullptr) [[unlikely]] {
        LossInputs kept = inputs;
        if (gives_up(inputs, params))
            kept.x = inputs.x.detach().clone().requires_grad_(inputs.x.requires_grad());
        auto made = run(inputs, params);
        observer->called(*this, kept, params, made);
        return made;
    }
    return run(inputs, params);
}

LossOutputs LossOp::run(const LossInputs& inputs, const LossParams& params) const {
    check(*binding_, inputs, params);
    if (!compose_projection_ || !inputs.weight.defined()) return call_component(binding_, inputs, params);
    LossParams own = params;
    own.may_overwrite_logits = binding_->request().may_overwrite_logits;  // nobody else knows them
    const auto x = reference::without_ignored(inputs.x, inputs.targets, params.ignore_index);
    return call_component(binding_,
                          {reference::linear(x, inputs.weight, inputs.bias), {}, {}, inputs.targets}, own);
}

}  // namespace switchyard::runtime
