#include "policy.h"

#include <ATen/TensorOperators.h>

#include <switchyard/sdk/bias_gradient.h>

#include "product.h"

namespace switchyard {
namespace {

using fp8::Format;
using fp8::Grouping;
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
    return fp8::is_whole(count_rows(inputs)) && fp8::is_whole(inputs.weight.size(0)) &&
           fp8::is_whole(inputs.weight.size(1));
}

// Both matrices' scales hold for the rows and for the columns alike.
bool turns(Grouping grouping) { return grouping == Grouping::tensor || grouping == Grouping::square; }

// saved.integers of a layer that was multiplied in float8; those of a layer in bfloat16 are PlainLinear's
// two.
enum : std::size_t { x_dtype, bias_dtype, x_grouping, x_integers };

at::ScalarType dtype_of(const Saved& saved, std::size_t which) {
    return static_cast<at::ScalarType>(saved.integers[which]);
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
             {computes_in_property, computed_in_}});
}

void Fp8Policy::forget() {
    weights_.clear();
    plain_.forget();
}

void Fp8Policy::begin_step() {
    forget();
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

at::Tensor Fp8Policy::in_bfloat16(const char* why, const LinearInputs& inputs, Saved* saved) {
    executed(why);
    computed_in_ = nullptr;
    return plain_.forward(inputs, saved);
}

void Fp8Policy::record(const LinearSite& site, Role role, const at::Tensor& amax) {
    if (recipe_ == Recipe::delayed && !recompute_) history_.record(site.name, role, amax);
}

// x [rows, columns] with its product's inner dimension last.
Scaled Fp8Policy::cast(const at::Tensor& x, Role role, const LinearSite& site) {
    const auto format = role == Role::gradient ? Format::e5m2 : Format::e4m3;
    switch (recipe_) {
        case Recipe::delayed:
            return fp8::quantize(x, format, Grouping::tensor, history_.scale(site.name, role, x.device()));
        case Recipe::current:
            return fp8::quantize(x, format, rows_ ? Grouping::row : Grouping::tensor);
        case Recipe::blockwise:
            break;
    }
    return fp8::quantize(x, format, role == Role::weight ? Grouping::square : Grouping::strip);
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

const Scaled& Fp8Policy::transposed_weight(const at::Tensor& weight_OI, const LinearSite& site) {
    Weight& kept = weight(weight_OI, site);
    if (!kept.by_columns.values.defined()) {
        kept.by_columns = turns(kept.by_rows.grouping) ? fp8::transposed(kept.by_rows)
                                                       : cast(kept.source.t(), Role::weight, site);
    }
    return kept.by_columns;
}

// x in one byte a value. Where its scales are those of rows, the transpose is kept, which the weight's
// gradient needs.
void Fp8Policy::keep(const LinearInputs& inputs, const Scaled& x, const LinearSite& site, Saved& saved) {
    const Scaled kept = turns(x.grouping) ? x : cast(fp8::rows_of(inputs.x.detach()).t(), Role::x, site);
    saved.input(inputs.weight);
    saved.extra(kept.values);
    saved.extra(kept.inverse);
    saved.integers.resize(x_integers);
    saved.integers[x_dtype] = static_cast<std::int64_t>(inputs.x.scalar_type());
    saved.integers[bias_dtype] =
        inputs.bias.defined() ? static_cast<std::int64_t>(inputs.bias.scalar_type()) : -1;
    saved.integers[x_grouping] = static_cast<std::int64_t>(kept.grouping);
}

at::Tensor Fp8Policy::linear(const LinearInputs& inputs, const LinearSite& site, Saved* saved) {
    if (const char* why = why_not(inputs, site)) return in_bfloat16(why, inputs, saved);
    const Scaled x = cast(fp8::rows_of(inputs.x.detach()), Role::x, site);
    const Scaled& weight_OI = weight(inputs.weight, site).by_rows;
    if (hides_non_finite(x) || hides_non_finite(weight_OI))
        return in_bfloat16("bfloat16_not_finite", inputs, saved);
    executed(is_whole(inputs) ? "float8" : "float8_padded");
    computed_in_ = x.amax.is_cuda() ? nullptr : "E4M3 as fp32";
    at::Tensor y_RO = fp8::product(x, weight_OI, true);
    if (inputs.bias.defined()) y_RO = y_RO + inputs.bias.detach();
    if (saved != nullptr) {
        record(site, Role::x, x.amax);
        record(site, Role::weight, weight_OI.amax);
        keep(inputs, x, site, *saved);
    }
    auto sizes = inputs.x.sizes().vec();
    sizes.back() = inputs.weight.size(0);
    return y_RO.to(at::kBFloat16).reshape(sizes);
}

LinearGrads Fp8Policy::linear_backward(const LinearSite& site, const Saved& saved, const at::Tensor& grad_y,
                                       const LinearNeeds& needs) {
    computed_in_ = nullptr;
    if (saved.integers.size() != x_integers) return plain_.backward(saved, grad_y, needs);
    const at::Tensor& weight_OI = saved[0];
    const at::Tensor grad_RO = fp8::rows_of(grad_y);
    const Scaled grad = cast(grad_RO, Role::gradient, site);
    record(site, Role::gradient, grad.amax);
    if (!grad.amax.is_cuda()) computed_in_ = "E5M2 as fp32";
    LinearGrads grads;
    if (needs.x) {
        auto sizes = grad_y.sizes().vec();
        sizes.back() = weight_OI.size(1);
        grads.x = fp8::product(grad, transposed_weight(weight_OI, site), false)
                      .reshape(sizes)
                      .to(dtype_of(saved, x_dtype));
    }
    if (needs.weight) {
        const auto grouping = static_cast<Grouping>(saved.integers[x_grouping]);
        const Scaled x{saved[1], saved[2], {}, grouping};
        const Scaled x_IR = turns(grouping) ? fp8::transposed(x) : x;
        const Scaled grad_OR =
            turns(grad.grouping) ? fp8::transposed(grad) : cast(grad_RO.t(), Role::gradient, site);
        grads.weight = fp8::product(grad_OR, x_IR, false).to(weight_OI.scalar_type());
    }
    if (needs.bias) grads.bias = bias_gradient(grad_RO, dtype_of(saved, bias_dtype));
    return grads;
}

}  // namespace switchyard
