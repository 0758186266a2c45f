#include "core/kernel/runtime/operations/linear_op.h"

#include <array>
#include <mutex>
#include <set>
#include <string>

#include <ATen/core/grad_mode.h>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/linear.h>
#include "core/kernel/runtime/operation_observer.h"
#include "core/kernel/runtime/operations/bias_gradient.h"
#include "core/kernel/runtime/operations/check.h"
#include "core/kernel/runtime/operations/operation_call.h"

namespace switchyard::runtime {
namespace {

// Legend:  R rows  I in  O out
constexpr std::array<const char*, 3> linear_inputs{"x", "weight", "bias"};
constexpr std::array<const char*, 1> linear_outputs{"y"};

// saved.integers. saved[0] is x, of a scaled call what the policy kept of it, with its scales in saved[2];
// saved[1] is the weight.
enum : std::size_t { x_dtype, bias_dtype, is_scaled, x_group, integers };

std::int64_t number_of(const at::Tensor& tensor) {
    return tensor.defined() ? static_cast<std::int64_t>(tensor.scalar_type()) : -1;
}

at::ScalarType dtype_of(const Saved& saved, std::size_t which) {
    return static_cast<at::ScalarType>(saved.integers[which]);
}

// [R, columns] of whatever leading sizes.
at::Tensor rows_of(const at::Tensor& x) {
    if (x.dim() == 2) return x;
    std::int64_t rows = 1;
    for (std::int64_t d = 0; d + 1 < x.dim(); ++d) rows *= x.size(d);
    return x.reshape({rows, x.size(-1)});
}

at::Tensor in_dtype(const at::Tensor& x, at::ScalarType dtype) {
    return !x.defined() || x.scalar_type() == dtype ? x : x.to(dtype);
}

struct LinearGrads {
    at::Tensor x, weight, bias;
};

struct LinearCall {
    LinearContext context;
    const LinearRequest* request;  // the binding's
    const void* user;              // whose forms of weights are kept

    bool scales() const { return request->weight_format == WeightFormat::scaled; }
    bool quantized() const { return request->weight_format == WeightFormat::quantized; }
    at::ScalarType dense_dtype() const {
        return to_scalar_type(scales() ? request->output_dtype : request->dtype);
    }
};

StepWeights::Weight quantized_weight(Linear& component, const LinearCall& call) {
    return call.context.weights->quantized(call.context.quantized, call.user, [&](const QuantizedWeight& w) {
        PreparedWeight made = component.prepare_quantized(w);
        if (made.form == nullptr)
            throw std::runtime_error(call.context.site->name + ": made no form of a quantized weight");
        return made;
    });
}

StepWeights::Weight dense_weight(Linear& component, const LinearCall& call, const at::Tensor& weight) {
    return call.context.weights->weight(weight, call.dense_dtype(), call.user, [&](const at::Tensor& values) {
        return component.prepare(values, call.request->needs_grad);
    });
}

LinearWeight given(const StepWeights::Weight& weight) {
    return {{weight.values}, weight.prepared.form == nullptr ? nullptr : &weight.prepared};
}

at::Tensor dense_forward(Linear& component, const LinearInputs& inputs, const LinearCall& call,
                         Saved* saved) {
    if (call.context.policy && !call.scales()) call.context.policy->count_dense();
    const auto dtype = call.dense_dtype();
    // Where autograd follows the casts, they are made in each call.
    const bool followed = at::GradMode::is_enabled() && call.request->needs_grad;
    const at::Tensor x = saved == nullptr || followed ? in_dtype(inputs.x, dtype)
                                                      : call.context.weights->input(inputs.x, dtype);
    if (call.quantized()) {
        const auto weight = quantized_weight(component, call);
        return component.forward({rows_of(x)}, given(weight), call.context.weights->cast(inputs.bias, dtype));
    }
    if (followed) {
        const at::Tensor weight_OI = in_dtype(inputs.weight, dtype);
        return component.forward({rows_of(x)}, {{weight_OI}}, in_dtype(inputs.bias, dtype));
    }
    if (saved != nullptr) {
        x.is_same(inputs.x) ? saved->input(x) : saved->extra(x);
        saved->input(inputs.weight);
        saved->integers = {number_of(inputs.x), number_of(inputs.bias), 0};
    }
    const auto weight = dense_weight(component, call, inputs.weight);
    return component.forward({rows_of(x)}, given(weight), call.context.weights->cast(inputs.bias, dtype));
}

at::Tensor scaled_forward(Linear& component, const LinearInputs& inputs, const QuantizedInputs& operands,
                          Saved* saved) {
    if (saved != nullptr) {
        saved->extra(operands.kept_x.values);
        saved->input(inputs.weight);
        saved->extra(operands.kept_x.inverse_scale);
        saved->integers = {number_of(inputs.x), number_of(inputs.bias), 1,
                           static_cast<std::int64_t>(operands.kept_x.group)};
    }
    const at::Tensor bias = inputs.bias.defined() ? inputs.bias.detach() : inputs.bias;
    return component.forward(operands.x, {operands.weight}, bias);
}

at::Tensor forward(Linear& component, const LinearInputs& inputs, const LinearCall& call, Saved* saved) {
    QuantizedInputs operands;
    const bool scaled = call.scales() &&
                        call.context.policy->quantize(inputs, *call.context.site, saved != nullptr, operands);
    const at::Tensor y_RO = scaled ? scaled_forward(component, inputs, operands, saved)
                                   : dense_forward(component, inputs, call, saved);
    const auto dtype = scaled ? to_scalar_type(call.request->output_dtype) : call.dense_dtype();
    const auto out = call.request->out;
    const bool fits = y_RO.defined() && y_RO.dim() == 2 && y_RO.size(1) == out &&
                      y_RO.numel() * inputs.x.size(-1) == inputs.x.numel() * out &&
                      (y_RO.scalar_type() == dtype || (scaled && y_RO.scalar_type() == at::kFloat));
    if (!fits) throw std::runtime_error(call.context.site->name + ": returned a y that is not [rows, out]");
    auto sizes = inputs.x.sizes().vec();
    sizes.back() = out;
    return in_dtype(y_RO, dtype).reshape(sizes);
}

// The weight's gradient first: it packs x for a while, and the gradient of x is often as large.
LinearGrads dense_gradients(Linear& component, const LinearCall& call, const Saved& saved,
                            const at::Tensor& grad_y, Needs needs) {
    const at::Tensor& x = saved[0];
    const at::Tensor grad_RO = rows_of(in_dtype(grad_y, x.scalar_type()));
    LinearGrads grads;
    if (needs[1]) grads.weight = component.weight_gradient({grad_RO}, {rows_of(x)});
    if (needs[0])
        grads.x = component.input_gradient({grad_RO}, given(dense_weight(component, call, saved[1])));
    if (needs[2]) grads.bias = bias_gradient(grad_RO, dtype_of(saved, bias_dtype));
    return grads;
}

LinearGrads scaled_gradients(Linear& component, const LinearCall& call, const Saved& saved,
                             const at::Tensor& grad_y, Needs needs) {
    const LinearOperand kept_x{saved[0], saved[2], static_cast<ScaleGroup>(saved.integers[x_group])};
    const at::Tensor grad_RO = rows_of(grad_y);
    const auto operands = call.context.policy->quantize_gradient(grad_RO, saved[1], kept_x,
                                                                 *call.context.site, {needs[0], needs[1]});
    LinearGrads grads;
    if (needs[0]) grads.x = component.input_gradient(operands.grad, {operands.weight});
    if (needs[1]) grads.weight = component.weight_gradient(operands.grad_t, operands.kept_x);
    if (needs[2]) grads.bias = bias_gradient(grad_RO, dtype_of(saved, bias_dtype));
    return grads;
}

struct LinearTraits {
    using Interface = Linear;
    using Inputs = LinearInputs;
    using Params = LinearCall;
    using KeptParams = LinearCall;

    static constexpr runtime::Signature signature{"linear.forward", "linear.backward", linear_inputs,
                                                  linear_outputs, 0b1};

    static std::array<const at::Tensor*, 3> pointers(const Inputs& inputs) {
        return {&inputs.x, &inputs.weight, &inputs.bias};
    }
    static Inputs inputs_of(const Tensors& list) { return {list[0], list[1], list[2]}; }

    static void forward(Linear& component, const Inputs& inputs, const Params& call, Tensors& outputs,
                        Saved* saved) {
        outputs.push_back(runtime::forward(component, inputs, call, saved));
    }
    static Tensors backward(Linear& component, const Params& call, const Saved& saved, const Tensors& grads,
                            Needs needs) {
        const bool scaled = saved.integers[is_scaled] != 0;
        auto made = scaled ? scaled_gradients(component, call, saved, grads[0], needs)
                           : dense_gradients(component, call, saved, grads[0], needs);
        if (made.x.defined()) {
            auto sizes = grads[0].sizes().vec();
            sizes.back() = saved[1].size(1);
            made.x = in_dtype(made.x.reshape(sizes), dtype_of(saved, x_dtype));
        }
        return {std::move(made.x), in_dtype(made.weight, saved[1].scalar_type()), std::move(made.bias)};
    }
    static Tensors reference(const Inputs& inputs, const Params& call) {
        if (call.quantized())
            throw std::logic_error(call.context.site->name + ": a quantized weight has no gradient");
        return {reference::linear(in_dtype(inputs.x, call.dense_dtype()), inputs.weight, inputs.bias)};
    }
    static std::uint64_t versions(const Params&) { return 0; }
};

void check(const Binding<Linear>& binding, const LinearInputs& in, const LinearContext& context) {
    const LinearRequest& request = binding.request();
    const std::string& name = context.site->name;
    const bool quantized = request.weight_format == WeightFormat::quantized;
    require(binding, in.x.defined() && in.x.dim() >= 1, name, ": x [..., in] is needed");
    require(binding, quantized == (context.quantized != nullptr), name,
            quantized ? ": the quantized weight is missing" : ": bound for weights that are not quantized");
    require(binding, quantized != in.weight.defined(), name,
            quantized ? ": a quantized weight comes alone" : ": weight [out, in] is needed");
    if (!quantized && (in.weight.dim() != 2 || in.weight.size(0) != request.out ||
                       in.weight.size(1) != request.in)) [[unlikely]] {
        refuse(binding, name, ": weight is ", in.weight.sizes(), ", bound for [", request.out, ", ",
               request.in, "]");
    }
    if (in.x.size(-1) != request.in) [[unlikely]] {
        refuse(binding, name, ": weight [", request.out, ", ", request.in, "] does not fit x ", in.x.sizes());
    }
    require_within(binding, "rows", in.x.numel() / std::max<std::int64_t>(request.in, 1), request.rows);
    if (in.bias.defined() && (in.bias.dim() != 1 || in.bias.size(0) != request.out)) [[unlikely]] {
        refuse(binding, name, ": bias must be [", request.out, "], got ", in.bias.sizes());
    }
    require(binding, !in.bias.defined() || request.bias, name,
            ": a bias is given, bound for calls without it");
}

// One address for all bindings of a component whose forms of weights are the same.
const void* user_of(const Binding<Linear>& binding) {
    const char* form = binding.answer(weight_form_property);
    if (form == nullptr) return &binding;
    static std::mutex mutex;
    static std::set<std::string> known;
    const std::lock_guard<std::mutex> lock(mutex);
    const char* use = binding.request().needs_grad ? ", for gradients: " : ": ";
    return &*known.insert(binding.plugin() + "/" + binding.component() + use + form).first;
}

}  // namespace

LinearOp::LinearOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed)
    : binding_(std::make_shared<Binding<Linear>>(loaded, std::move(info))), user_(user_of(*binding_)) {
    check_binding(*binding_, composed, {});
}

bool LinearOp::settle(const at::Tensor& weight, const LinearContext& context) const {
    const LinearCall call{context, &binding_->request(), user_};
    if (call.scales() || call.request->needs_grad) return false;
    const PlaceScope place([&] { return context.site->name; });
    return binding_->run("linear.prepare", [&] {
        Linear& component = binding_->interface();
        if (call.quantized()) return quantized_weight(component, call).prepared.form != nullptr;
        return context.weights->settle(weight, call.dense_dtype(), user_, [&](const at::Tensor& values) {
            return component.prepare(values, false);
        });
    });
}

std::int64_t LinearOp::form_bytes(const at::Tensor& weight, const LinearContext& context) const {
    const LinearCall call{context, &binding_->request(), user_};
    if (call.scales()) return 0;
    return binding_->run("linear.prepare", [&] {
        Linear& component = binding_->interface();
        const auto made =
            call.quantized() ? quantized_weight(component, call) : dense_weight(component, call, weight);
        return made.prepared.form != nullptr && made.prepared.replaces_weight ? made.prepared.bytes : 0;
    });
}

at::Tensor LinearOp::operator()(const LinearInputs& inputs, const LinearContext& context) const {
    check(*binding_, inputs, context);
    const PlaceScope place([&] { return context.site->name; });
    const LinearCall call{context, &binding_->request(), user_};
    Tensors outputs;
    runtime::call<LinearTraits>(binding_, inputs, call, outputs);
    return shown(*this, inputs, context, std::move(outputs[0]));
}

}  // namespace switchyard::runtime
