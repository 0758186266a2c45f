#include "core/kernel/resolver/request_fields.h"

#include <cstdio>
#include <stdexcept>
#include <type_traits>

namespace switchyard::resolver {
namespace {

template <class R, class F>
void visit_common(R& r, F&& f) {
    f("dtype", r.dtype), f("device", r.device), f("layout", r.layout), f("phase", r.phase);
    f("needs_grad", r.needs_grad), f("deterministic", r.deterministic), f("allow_reduced", r.allow_reduced);
}

// Calls f(name, member) for each member, those of the base first. R is Request or const Request.
template <class Derived, class R>
auto& as(R& request) {
    return static_cast<std::conditional_t<std::is_const_v<R>, const Derived, Derived>&>(request);
}

template <class R, class F>
void visit_attention(R& request, F&& f) {
    auto& r = as<AttentionRequest>(request);
    f("batch", r.batch), f("heads", r.heads), f("kv_heads", r.kv_heads), f("q_length", r.q_length);
    f("kv_length", r.kv_length), f("head_dim", r.head_dim), f("v_head_dim", r.v_head_dim),
        f("masks", r.masks);
    f("bias_gradient", r.bias_gradient), f("dropout", r.dropout), f("paged_cache", r.paged_cache);
}

template <class R, class F>
void visit_normalization(R& request, F&& f) {
    auto& r = as<NormalizationRequest>(request);
    f("norm", r.norm), f("rows", r.rows), f("width", r.width), f("parameter_dtype", r.parameter_dtype);
    f("affine_bias", r.affine_bias), f("input_bias", r.input_bias), f("residual", r.residual),
        f("dropout", r.dropout);
}

template <class R, class F>
void visit_activation(R& request, F&& f) {
    auto& r = as<ActivationRequest>(request);
    f("activation", r.activation), f("rows", r.rows), f("width", r.width);
    f("input_bias", r.input_bias), f("dropout", r.dropout);
}

template <class R, class F>
void visit_loss(R& request, F&& f) {
    auto& r = as<LossRequest>(request);
    f("rows", r.rows), f("classes", r.classes), f("width", r.width), f("projection", r.projection);
    f("projection_bias", r.projection_bias), f("label_smoothing", r.label_smoothing), f("z_loss", r.z_loss);
    f("per_row", r.per_row), f("may_overwrite_logits", r.may_overwrite_logits);
}

template <class R, class F>
void visit_optimizer(R& request, F&& f) {
    auto& r = as<OptimizerRequest>(request);
    f("algorithm", r.algorithm), f("gradient_dtype", r.gradient_dtype), f("master_weights", r.master_weights);
    f("clip", r.clip), f("unscale", r.unscale), f("parameters", r.parameters);
    f("tensors", r.tensors);
}

template <class R, class F>
void visit(Kind kind, R& request, F&& f) {
    visit_common(request, f);
    switch (kind) {
        case Kind::attention:
            return visit_attention(request, f);
        case Kind::normalization:
            return visit_normalization(request, f);
        case Kind::activation:
            return visit_activation(request, f);
        case Kind::loss:
            return visit_loss(request, f);
        case Kind::optimizer:
            return visit_optimizer(request, f);
        case Kind::precision:
            return f("loss_scaling", as<PrecisionRequest>(request).loss_scaling);
        case Kind::data_loader: {
            auto& r = as<DataLoaderRequest>(request);
            f("batch", r.batch), f("length", r.length), f("labels_per_token", r.labels_per_token);
        }
    }
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

std::string mask_text(MaskSet masks) {
    std::string text;
    for (std::size_t i = 0; i < names<MaskKind>.size(); ++i) {
        if (!masks.has(static_cast<MaskKind>(i))) continue;
        if (!text.empty()) text += '+';
        text += names<MaskKind>[i];
    }
    return text.empty() ? "none" : text;
}

// Is the field off, so that a description can leave it out?
bool is_off(const FieldValue& value) {
    if (const auto* flag = std::get_if<bool>(&value)) return !*flag;
    if (const auto* real = std::get_if<double>(&value)) return *real == 0.0;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole == 0;
    if (const auto* masks = std::get_if<MaskSet>(&value)) return masks->empty();
    if (const auto* range = std::get_if<Range>(&value)) return range->max == 0;
    return false;
}

}  // namespace

std::vector<Field> fields(Kind kind, const Request& request) {
    std::vector<Field> list;
    visit(kind, request, [&](std::string_view name, const auto& value) { list.push_back({name, value}); });
    return list;
}

void set_field(Kind kind, Request& request, std::string_view name, const FieldValue& value) {
    visit(kind, request, [&](std::string_view at, auto& member) {
        using Member = std::remove_reference_t<decltype(member)>;
        if (at != name) return;
        if (const auto* given = std::get_if<Member>(&value)) member = *given;
    });
}

std::shared_ptr<Request> clone(Kind kind, const Request& request) {
    switch (kind) {
        case Kind::attention:
            return std::make_shared<AttentionRequest>(as<AttentionRequest>(request));
        case Kind::normalization:
            return std::make_shared<NormalizationRequest>(as<NormalizationRequest>(request));
        case Kind::activation:
            return std::make_shared<ActivationRequest>(as<ActivationRequest>(request));
        case Kind::loss:
            return std::make_shared<LossRequest>(as<LossRequest>(request));
        case Kind::optimizer:
            return std::make_shared<OptimizerRequest>(as<OptimizerRequest>(request));
        case Kind::precision:
            return std::make_shared<PrecisionRequest>(as<PrecisionRequest>(request));
        case Kind::data_loader:
            return std::make_shared<DataLoaderRequest>(as<DataLoaderRequest>(request));
    }
    throw std::logic_error("request of an unknown kind");
}

bool equal(Kind kind, const Request& a, const Request& b) { return fields(kind, a) == fields(kind, b); }

std::string to_text(const FieldValue& value) {
    return std::visit(
        [](const auto& v) -> std::string {
            using V = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<V, bool>)
                return v ? "yes" : "no";
            else if constexpr (std::is_same_v<V, std::int64_t>)
                return std::to_string(v);
            else if constexpr (std::is_same_v<V, double>)
                return number(v);
            else if constexpr (std::is_same_v<V, MaskSet>)
                return mask_text(v);
            else if constexpr (std::is_same_v<V, Range>)
                return std::to_string(v.min) + (v.single() ? "" : ".." + std::to_string(v.max));
            else
                return std::string(name(v));
        },
        value);
}

std::string in_words(Kind kind, const Request& request) {
    std::string text = std::string(name(request.dtype)) + " on " + std::string(name(request.device)) + ", " +
                       std::string(name(request.layout)) + ", " + std::string(name(request.phase));
    for (const auto& field : fields(kind, request)) {
        if (field.name == "dtype" || field.name == "device" || field.name == "layout" ||
            field.name == "phase")
            continue;
        if (is_off(field.value)) continue;
        text.append(", ").append(field.name);
        if (!std::holds_alternative<bool>(field.value)) text.append(1, ' ').append(to_text(field.value));
    }
    return text;
}

}  // namespace switchyard::resolver
