#include "policy.h"

#include <ATen/TensorOperators.h>

#include "product.h"

namespace switchyard {
namespace {

using fp8::Format;
using fp8::Role;
using fp8::Scaled;

// Legend:  R rows  I in  O out

fp8::AmaxHistory::Settings history_of(const Options& options) {
    return {options.integer("amax_history_length"), options.integer("margin"), options.integer("interval"),
            options.string("amax_compute") == "most_recent"};
}

// Infinity and NaN must come through as what they are. On a device asking would wait for it: there the scale
// is NaN, and so is the result.
bool hides_non_finite(const Scaled& x) { return !x.amax.is_cuda() && !x.amax.isfinite().item<bool>(); }

std::int64_t count_rows(const LinearInputs& inputs) {
    const std::int64_t in = inputs.x.size(-1);
    return in == 0 ? 0 : inputs.x.numel() / in;
}

bool is_whole(const LinearInputs& inputs) {
    return fp8::is_whole(count_rows(inputs), inputs.weight.size(1), inputs.weight.size(0));
}

}  // namespace

Fp8Policy::Fp8Policy(const CreateInfo& info)
    : Precision(info),
      recipe_(Recipe::blockwise),
      rows_(info.options.string("scale") == "row"),
      min_intensity_(info.options.number("min_intensity")),
      keep_{info.options.list("keep"), info.options.integer("keep_first"), info.options.integer("keep_last")},
      history_(history_of(info.options)) {
    if (info.options.string("recipe") == "delayed") recipe_ = Recipe::delayed;
    if (info.options.string("recipe") == "current") recipe_ = Recipe::current;
}

DType Fp8Policy::compute(OpClass op, const std::string& layer) const {
    if (op == OpClass::linear)
        return fp8::is_kept(keep_, std::string_view(layer)) ? DType::bfloat16 : DType::float8_e4m3fn;
    const bool low = op == OpClass::attention || op == OpClass::activation || op == OpClass::loss;
    return low ? DType::bfloat16 : DType::float32;
}

void* Fp8Policy::query(std::string_view id) {
    const bool follows = recipe_ == Recipe::delayed;
    return component_property(
        id, {{graph_capture_property,
              follows ? "scales follow magnitudes that the host takes over after each step; the "
                        "recipes current and blockwise do not"
                      : ""},
             {thread_counts_property, ""}});
}

void Fp8Policy::begin_step() {
    weights_.clear();
    history_.begin_step();
}

void Fp8Policy::update(bool /*found_inf*/) {
    if (recipe_ == Recipe::delayed) history_.end_step();
}

PrecisionState Fp8Policy::state() const {
    return recipe_ == Recipe::delayed ? history_.state() : PrecisionState{};
}

// The variant to report, or nullptr where x is to be multiplied in float8.
const char* Fp8Policy::why_not(const LinearInputs& inputs, const LinearSite& site) const {
    if (fp8::is_kept(keep_, site)) return "bfloat16_kept";
    const std::int64_t rows = count_rows(inputs), in = inputs.weight.size(1), out = inputs.weight.size(0);
    const bool empty = rows * in * out == 0;
    return empty || fp8::intensity(rows, in, out) < min_intensity_ ? "bfloat16_small" : nullptr;
}

void Fp8Policy::record(const LinearSite& site, Role role, const at::Tensor& amax) {
    if (recipe_ == Recipe::delayed && !recompute_) history_.record(site.name, role, amax);
}

// x [rows, columns] with its product's inner dimension last.
Scaled Fp8Policy::cast(const at::Tensor& x, Role role, const LinearSite& site) {
    const auto format = role == Role::gradient ? Format::e5m2 : Format::e4m3;
    switch (recipe_) {
        case Recipe::delayed:
            return fp8::quantize(x, format, ScaleGroup::tensor, history_.scale(site.name, role, x.device()));
        case Recipe::current:
            return fp8::quantize(x, format, rows_ ? ScaleGroup::row : ScaleGroup::tensor);
        case Recipe::blockwise:
            break;
    }
    return fp8::quantize(x, format, role == Role::weight ? ScaleGroup::square : ScaleGroup::strip);
}

Fp8Policy::Weight& Fp8Policy::weight(const at::Tensor& weight_OI, const LinearSite& site) {
    Weight& kept = weights_[site.name];
    const bool counted = !weight_OI.is_inference();
    const auto& source = kept.source;
    const bool same = counted && source.defined() && source.const_data_ptr() == weight_OI.const_data_ptr() &&
                      kept.version == weight_OI._version() && source.sizes() == weight_OI.sizes() &&
                      source.strides() == weight_OI.strides();
    if (same) return kept;
    const at::Tensor plain_OI = weight_OI.detach();
    kept = {plain_OI, counted ? weight_OI._version() : 0, cast(plain_OI, Role::weight, site), {}};
    return kept;
}

const LinearOperand& Fp8Policy::transposed_weight(const at::Tensor& weight_OI, const LinearSite& site) {
    Weight& kept = weight(weight_OI, site);
    if (!kept.by_columns.values.defined()) {
        const LinearOperand& by_rows = kept.by_rows.operand;
        kept.by_columns = fp8::turns(by_rows.group) ? fp8::transposed(by_rows)
                                                    : cast(kept.source.t(), Role::weight, site).operand;
    }
    return kept.by_columns;
}

// x in one byte a value. Where its scales are those of rows, the transpose is kept, which the weight's
// gradient needs.
LinearOperand Fp8Policy::kept(const at::Tensor& x_RI, const LinearOperand& cast_RI, const LinearSite& site) {
    return fp8::turns(cast_RI.group) ? cast_RI : cast(x_RI.t(), Role::x, site).operand;
}

bool Fp8Policy::quantize(const LinearInputs& inputs, const LinearSite& site, bool for_gradient,
                         QuantizedInputs& made) {
    if (const char* why = why_not(inputs, site)) return executed(why), false;
    const at::Tensor x_RI = inputs.x.detach().reshape({-1, inputs.x.size(-1)});
    const Scaled x = cast(x_RI, Role::x, site);
    const Scaled& weight_OI = weight(inputs.weight, site).by_rows;
    if (hides_non_finite(x) || hides_non_finite(weight_OI)) return executed("bfloat16_not_finite"), false;
    executed(is_whole(inputs) ? "float8" : "float8_padded");
    made = {x.operand, weight_OI.operand, {}};
    if (for_gradient) {
        record(site, Role::x, x.amax);
        record(site, Role::weight, weight_OI.amax);
        made.kept_x = kept(x_RI, x.operand, site);
    }
    return true;
}

QuantizedGradients Fp8Policy::quantize_gradient(const at::Tensor& grad_RO, const at::Tensor& weight_OI,
                                                const LinearOperand& kept_x, const LinearSite& site,
                                                const LinearNeeds& needs) {
    const Scaled grad = cast(grad_RO, Role::gradient, site);
    record(site, Role::gradient, grad.amax);
    QuantizedGradients made;
    if (needs.x) {
        made.grad = grad.operand;
        made.weight = transposed_weight(weight_OI, site);
    }
    if (needs.weight) {
        made.grad_t = fp8::turns(grad.operand.group) ? fp8::transposed(grad.operand)
                                                     : cast(grad_RO.t(), Role::gradient, site).operand;
        made.kept_x = fp8::turns(kept_x.group) ? fp8::transposed(kept_x) : kept_x;
    }
    return made;
}

}  // namespace switchyard
