#include "core/kernel/runtime/operations/precision_op.h"

#include <array>

#include <ATen/core/Tensor.h>

#include <switchyard/reference/linear.h>
#include "core/kernel/runtime/operations/check.h"
#include "core/kernel/runtime/operations/operation_call.h"

namespace switchyard::model {
namespace {

constexpr std::array<const char*, 3> input_names{"x", "weight", "bias"};
constexpr std::array<const char*, 1> output_names{"y"};

struct LinearTraits {
    using Interface = Precision;
    using Inputs = LinearInputs;
    using Params = std::shared_ptr<const LinearSite>;
    using KeptParams = Params;

    static constexpr host::Signature signature{"precision.linear", "precision.linear_backward", input_names,
                                               output_names, 0b1};

    static std::array<const at::Tensor*, 3> pointers(const Inputs& inputs) {
        return {&inputs.x, &inputs.weight, &inputs.bias};
    }
    static Inputs inputs_of(const host::Tensors& list) { return {list[0], list[1], list[2]}; }

    static void forward(Precision& policy, const Inputs& inputs, const Params& site, host::Tensors& outputs,
                        Saved* saved) {
        outputs.push_back(policy.linear(inputs, *site, saved));
    }
    static host::Tensors backward(Precision& policy, const Params& site, const Saved& saved,
                                  const host::Tensors& grads, host::Needs needs) {
        LinearGrads made = policy.linear_backward(*site, saved, grads[0], {needs[0], needs[1], needs[2]});
        return {std::move(made.x), std::move(made.weight), std::move(made.bias)};
    }
    static host::Tensors reference(const Inputs& inputs, const Params&) {
        return {reference::linear(inputs.x, inputs.weight, inputs.bias)};
    }
    static std::uint64_t versions(const Params&) { return 0; }
};

void check(const host::BindingBase& binding, const LinearInputs& in, const LinearSite& site) {
    require(binding, in.x.defined() && in.weight.defined() && in.x.dim() >= 1 && in.weight.dim() == 2,
            site.name, ": x [..., in] and weight [out, in] are needed");
    if (in.x.size(-1) != in.weight.size(1)) [[unlikely]] {
        refuse(binding, site.name, ": weight ", in.weight.sizes(), " does not fit x ", in.x.sizes());
    }
    if (in.bias.defined() && (in.bias.dim() != 1 || in.bias.size(0) != in.weight.size(0))) [[unlikely]] {
        refuse(binding, site.name, ": bias must be [", in.weight.size(0), "], got ", in.bias.sizes());
    }
}

}  // namespace

PrecisionOp::PrecisionOp(const host::LoadedComponent& loaded, host::BindingInfo info,
                         const resolver::Composed& composed)
    : binding_(std::make_shared<host::Binding<Precision>>(loaded, std::move(info))) {
    check_binding(*binding_, composed, {});
}

DType PrecisionOp::storage(OpClass op, const std::string& layer) const {
    return binding_->run("precision.storage", [&] { return binding_->interface().storage(op, layer); });
}

DType PrecisionOp::compute(OpClass op, const std::string& layer) const {
    return binding_->run("precision.compute", [&] { return binding_->interface().compute(op, layer); });
}

at::Tensor PrecisionOp::linear(const LinearInputs& inputs,
                               const std::shared_ptr<const LinearSite>& site) const {
    check(*binding_, inputs, *site);
    const host::PlaceScope place([&] { return site->name; });
    host::Tensors outputs;
    call<LinearTraits>(binding_, inputs, site, outputs);
    const at::Tensor& y = outputs[0];
    if (!y.defined() || y.dim() != inputs.x.dim() || y.size(-1) != inputs.weight.size(0)) {
        throw host::PluginError(binding_->site("precision.linear"),
                                site->name + ": returned a y that is not [..., out]");
    }
    return std::move(outputs[0]);
}

void PrecisionOp::begin_step() const {
    binding_->run("precision.begin_step", [&] { binding_->interface().begin_step(); });
}

void PrecisionOp::end_step() const {
    binding_->run("precision.end_step", [&] { binding_->interface().end_step(); });
}

void PrecisionOp::set_recompute(bool recompute) const {
    binding_->run("precision.set_recompute", [&] { binding_->interface().set_recompute(recompute); });
}

double PrecisionOp::loss_scale() const {
    return binding_->run("precision.loss_scale", [&] { return binding_->interface().loss_scale(); });
}

void PrecisionOp::update(bool found_inf) const {
    binding_->run("precision.update", [&] { binding_->interface().update(found_inf); });
}

PrecisionState PrecisionOp::state() const {
    return binding_->run("precision.state", [&] { return binding_->interface().state(); });
}

void PrecisionOp::load(const PrecisionState& state) const {
    binding_->run("precision.load", [&] { binding_->interface().load(state); });
}

}  // namespace switchyard::model
