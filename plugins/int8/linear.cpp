#include "linear.h"

#include <memory>
#include <stdexcept>

#include <switchyard/reference/quantized_weight.h>

#include "byte_kernels.h"
#include "byte_product.h"
#include "panels.h"
#include "weight_product.h"

namespace switchyard {
namespace {

using int8::Panels;

PreparedWeight prepared(Panels panels) {
    const auto form = std::make_shared<const Panels>(std::move(panels));
    return {form, form->bytes(), true};
}

const Panels& panels_of(const LinearWeight& weight) {
    if (weight.prepared == nullptr) throw std::logic_error("a weight comes prepared");
    return *static_cast<const Panels*>(weight.prepared->form.get());
}

// Whether a call comes with the weight as it is, because the core had no occasion to prepare it.
bool is_plain(const LinearWeight& weight) { return weight.prepared == nullptr; }

}  // namespace

DynamicInt8::DynamicInt8(const CreateInfo& info) : Linear(info), group_(info.options.integer("group")) {
    form_ = std::string("bytes for ") + int8::byte_kernels().name + ", groups of " + std::to_string(group_);
}

at::Tensor DynamicInt8::forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) {
    if (is_plain(weight)) {
        const auto made = prepare(weight.operand.values, false);
        return forward(x, {{}, &made}, bias);
    }
    at::Tensor y = int8::byte_product(x.values, panels_of(weight), bias);
    executed(int8::byte_kernels().name);
    return y;
}

PreparedWeight DynamicInt8::prepare(const at::Tensor& weight_OI, bool) {
    return prepare_quantized(reference::quantized(weight_OI, {8, group_}));
}

PreparedWeight DynamicInt8::prepare_quantized(const QuantizedWeight& weight) {
    return prepared(int8::byte_panels(weight, int8::byte_kernels().step));
}

void* DynamicInt8::query(std::string_view id) {
    return component_property(id, {{computes_in_property, "int8, int32 sums"},
                                   {thread_counts_property, ""},
                                   {weight_form_property, form_.c_str()}});
}

WeightOnly::WeightOnly(const CreateInfo& info, std::int64_t bits)
    : Linear(info),
      bits_(bits),
      group_(info.options.integer("group")),
      zero_points_(bits == 4 && info.options.boolean("zero_points")) {
    form_ = std::to_string(bits) + " bits, groups of " + std::to_string(group_) +
            (zero_points_ ? ", zero points" : "");
}

at::Tensor WeightOnly::forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) {
    if (is_plain(weight)) {
        const auto made = prepare(weight.operand.values, false);
        return forward(x, {{}, &made}, bias);
    }
    const char* variant = "";
    at::Tensor y = int8::weight_product(x.values, panels_of(weight), bias, variant);
    executed(variant);
    return y;
}

PreparedWeight WeightOnly::prepare(const at::Tensor& weight_OI, bool) {
    return prepare_quantized(reference::quantized(weight_OI, {bits_, group_, zero_points_}));
}

PreparedWeight WeightOnly::prepare_quantized(const QuantizedWeight& weight) {
    return prepared(int8::weight_panels(weight));
}

void* WeightOnly::query(std::string_view id) {
    return component_property(
        id, {{computes_in_property, bits_ == 4 ? "fp32, weights int4" : "fp32, weights int8"},
             {weight_form_property, form_.c_str()}});
}

}  // namespace switchyard
