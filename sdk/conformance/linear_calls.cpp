#include <switchyard/conformance/linear_calls.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>

#include <switchyard/interfaces/torch_types.h>

namespace switchyard::conformance {
namespace {

// Legend:  R rows  I in  O out

LinearOperand dense(const at::Tensor& values) { return {values, {}, ScaleGroup::tensor}; }

bool same_place(const at::Tensor& a, const at::Tensor& b) {
    return a.const_data_ptr() == b.const_data_ptr() && a.sizes() == b.sizes();
}

LinearWeight used(const at::Tensor& weight, const PreparedWeight& prepared) {
    if (prepared.form == nullptr) return {dense(weight), nullptr};
    return {dense(prepared.replaces_weight ? at::Tensor() : weight), &prepared};
}

// A scale that some of the values of `bell` do not fit in.
constexpr double fixed_input_scale = 3.0 / 127.0;

}  // namespace

QuantizedWeight quantized_weight(const OperandForm& form, const at::Tensor& weight_OI) {
    QuantizedWeight made = reference::quantized(weight_OI, form.quantization);
    if (form.input == InputQuantization::fixed)
        made.input_scale = at::scalar_tensor(fixed_input_scale, at::kFloat);
    return made;
}

LinearCalls::LinearCalls(const LinearSpec& spec, const Tensors& inputs, const at::Tensor& grad_RO,
                         const Variation& variation)
    : spec_(spec), variation_(variation) {
    if (spec.form.quantized()) quantized_ = quantized_weight(spec.form, inputs[1]);
    if (!spec.form.operands_scaled) return;
    operands_.push_back(both(inputs[0], OperandRole::x));
    operands_.push_back(both(inputs[1], OperandRole::weight));
    operands_.push_back(both(grad_RO, OperandRole::gradient));
}

LinearCalls::Both LinearCalls::both(const at::Tensor& dense, OperandRole role) const {
    const ScaleGroup group = role == OperandRole::weight ? spec_.form.weight : spec_.form.x;
    return {dense.detach(), scaled_operand(dense, role, group, spec_.scaled, variation_),
            scaled_operand(dense.t(), role, group, spec_.scaled, variation_)};
}

Tensors LinearCalls::operands() const {
    Tensors all;
    for (const at::Tensor& part :
         {quantized_.values, quantized_.scales, quantized_.zero_points, quantized_.input_scale})
        if (part.defined()) all.push_back(part);
    for (const Both& one : operands_) {
        for (const LinearOperand* operand : {&one.straight, &one.turned}) {
            all.push_back(operand->values);
            all.push_back(operand->inverse_scale);
        }
    }
    return all;
}

const LinearCalls::Both& LinearCalls::both_of(const at::Tensor& dense, OperandRole role) {
    for (const Both& one : operands_) {
        if (same_place(one.dense, dense)) return one;
    }
    return operands_.emplace_back(both(dense, role));
}

// Forms are kept as long as the case is, as the core keeps them for a step.
const LinearCalls::Held& LinearCalls::held(Linear& component, const at::Tensor& weight) {
    for (const Held& one : held_) {
        if (same_place(one.weight, weight)) return one;
    }
    const bool for_gradient = spec_.needs && spec_.only != "weight";
    const at::Tensor plain = weight.detach(), other = plain.neg();
    return held_.emplace_back(
        Held{plain, other, component.prepare(plain, for_gradient), component.prepare(other, for_gradient)});
}

LinearWeight LinearCalls::weight_of(Linear& component, const at::Tensor& weight) {
    if (!spec_.prepared) return {dense(weight), nullptr};
    return used(weight, held(component, weight).of_weight);
}

// The form is made once, and the weight that it was made of is gone when it is used.
at::Tensor LinearCalls::quantized_forward(Linear& component, const Tensors& inputs) {
    if (of_quantized_.form == nullptr) of_quantized_ = component.prepare_quantized(quantized_);
    return component.forward(dense(inputs[0]), {{}, &of_quantized_}, inputs[2]);
}

Tensors LinearCalls::forward(Linear& component, const Tensors& inputs, Saved* saved) {
    if (spec_.form.quantized()) return {quantized_forward(component, inputs)};
    const at::Tensor &x_RI = inputs[0], &weight_OI = inputs[1], &bias_O = inputs[2];
    if (saved != nullptr) {
        saved->input(x_RI);
        saved->input(weight_OI);
    }
    if (spec_.form.operands_scaled) {
        const LinearOperand& x = both_of(x_RI, OperandRole::x).straight;
        const LinearOperand& weight = both_of(weight_OI, OperandRole::weight).straight;
        const at::Tensor y = component.forward(x, {weight, nullptr}, bias_O);
        return {y.defined() && y.scalar_type() == at::kFloat ? y.to(to_scalar_type(spec_.dtype)) : y};
    }
    const at::Tensor y_RO = component.forward(dense(x_RI), weight_of(component, weight_OI), bias_O);
    if (!spec_.prepared) return {y_RO};
    const Held& both = held(component, weight_OI);
    return {y_RO, component.forward(dense(x_RI), used(both.other, both.of_other), bias_O)};
}

Tensors LinearCalls::backward(Linear& component, const Saved& saved, const Tensors& grads,
                              const std::vector<bool>& needs) {
    const at::Tensor &x_RI = saved[0], &weight_OI = saved[1];
    Tensors made(3);
    if (spec_.form.operands_scaled) {
        const Both& grad = both_of(grads[0], OperandRole::gradient);
        const auto type = to_scalar_type(spec_.dtype);
        const auto as_input = [&](const at::Tensor& gradient) {
            return gradient.defined() && gradient.scalar_type() == at::kFloat ? gradient.to(type) : gradient;
        };
        if (needs[0]) {
            const LinearOperand& weight = both_of(weight_OI, OperandRole::weight).turned;
            made[0] = as_input(component.input_gradient(grad.straight, {weight, nullptr}));
        }
        if (needs[1])
            made[1] = as_input(component.weight_gradient(grad.turned, both_of(x_RI, OperandRole::x).turned));
        return made;
    }
    // Each twice: what the second call gives must leave the first's alone.
    const at::Tensor other_grad = grads[0].neg();
    const LinearWeight weight = weight_of(component, weight_OI);
    if (needs[0]) {
        made[0] = component.input_gradient(dense(grads[0]), weight);
        component.input_gradient(dense(other_grad), weight);
    }
    if (needs[1]) {
        made[1] = component.weight_gradient(dense(grads[0]), dense(x_RI));
        component.weight_gradient(dense(other_grad), dense(x_RI));
    }
    return made;
}

void LinearCalls::inspect(std::vector<Fault>& faults) const {
    if (spec_.form.quantized() && of_quantized_.bytes <= 0)
        faults.push_back(
            {"wrong_form", "",
             "the form of the quantized weight holds " + std::to_string(of_quantized_.bytes) + " bytes"});
    if (spec_.form.quantized() && !of_quantized_.replaces_weight)
        faults.push_back({"wrong_form", "", "the form of the quantized weight does not replace it"});
    for (const Held& one : held_) {
        const PreparedWeight& prepared = one.of_weight;
        if (prepared.form == nullptr && prepared.replaces_weight)
            faults.push_back({"wrong_form", "", "prepare made no form, which replaces the weight"});
        if (prepared.form != nullptr && prepared.bytes <= 0)
            faults.push_back(
                {"wrong_form", "", "the prepared form holds " + std::to_string(prepared.bytes) + " bytes"});
    }
}

}  // namespace switchyard::conformance
