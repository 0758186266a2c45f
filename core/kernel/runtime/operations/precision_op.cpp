#include "core/kernel/runtime/operations/precision_op.h"

#include "core/kernel/runtime/operations/check.h"

namespace switchyard::runtime {

PrecisionOp::PrecisionOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed)
    : binding_(std::make_shared<Binding<Precision>>(loaded, std::move(info))) {
    check_binding(*binding_, composed, {});
}

DType PrecisionOp::storage(OpClass op, const std::string& layer) const {
    return binding_->run("precision.storage", [&] { return binding_->interface().storage(op, layer); });
}

DType PrecisionOp::compute(OpClass op, const std::string& layer) const {
    return binding_->run("precision.compute", [&] { return binding_->interface().compute(op, layer); });
}

bool PrecisionOp::quantize(const LinearInputs& inputs, const LinearSite& site, bool for_gradient,
                           QuantizedInputs& made) const {
    return binding_->run("precision.quantize",
                         [&] { return binding_->interface().quantize(inputs, site, for_gradient, made); });
}

QuantizedGradients PrecisionOp::quantize_gradient(const at::Tensor& grad_RO, const at::Tensor& weight_OI,
                                                  const LinearOperand& kept_x, const LinearSite& site,
                                                  const LinearNeeds& needs) const {
    return binding_->run("precision.quantize_gradient", [&] {
        return binding_->interface().quantize_gradient(grad_RO, weight_OI, kept_x, site, needs);
    });
}

void PrecisionOp::begin_step() const {
    weights_->forget();
    binding_->run("precision.begin_step", [&] { binding_->interface().begin_step(); });
}

void PrecisionOp::end_step() const {
    weights_->forget();
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

}  // namespace switchyard::runtime
