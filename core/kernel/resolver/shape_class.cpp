#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/kernel/resolver/measured.h"
#include "core/kernel/resolver/request_fields.h"

namespace switchyard::resolver {
namespace {

std::int64_t power_of_two(std::int64_t value) {
    return value <= 0 ? 0 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value)));
}

// Kernels are written for some of them: 64 is not like 63.
bool counts_as_it_is(std::string_view field) {
    return field == "head_dim" || field == "v_head_dim" || field == "width" || field == "in" ||
           field == "out";
}

// Empty: off, or no part of the class.
std::string text_of(const Field& field) {
    const std::string name(field.name);
    if (is_off(field.value)) return "";
    if (std::holds_alternative<bool>(field.value)) return name;
    if (const auto* real = std::get_if<double>(&field.value)) return *real > 0.0 ? name : "";
    if (const auto* whole = std::get_if<std::int64_t>(&field.value)) {
        const auto counted = counts_as_it_is(field.name) ? *whole : power_of_two(*whole);
        return name + " " + std::to_string(counted);
    }
    if (const auto* range = std::get_if<Range>(&field.value)) {
        if (counts_as_it_is(field.name)) return name + " " + to_text(field.value);
        return name + " " + std::to_string(power_of_two(range->max));
    }
    return name + " " + to_text(field.value);
}

std::string unmeasured_because(const AttentionRequest& request) {
    const bool packed = request.layout == Layout::packed;
    if (request.paged_cache) return "paged caches are not measured";
    if (request.want_lse) return "the log-sum-exp is not measured";
    if (!(request.v_head_dim == request.head_dim) || !request.head_dim.single())
        return "several head sizes are not measured";
    if (!request.heads.single() || !request.kv_heads.single()) return "a range of heads is not measured";
    if (packed != request.masks.has(MaskKind::documents)) return "documents in padded rows are not measured";
    if (packed && (request.masks.has(MaskKind::key_lengths) || request.masks.has(MaskKind::dense_bias)))
        return "padding within documents is not measured";
    const bool bias = request.masks.has(MaskKind::relative_bias);
    if (request.bias_gradient != (bias && request.needs_grad))
        return "this gradient of a bias is not measured";
    return "";
}

// The bench knows what is right of operands that all have one dtype. A wider result holds the same values.
std::string unmeasured_because(const LinearRequest& request) {
    if (request.in < 1 || request.out < 1) return "a layer without values is not measured";
    if (request.weight_format != WeightFormat::dense)
        return "products of " + std::string(name(request.weight_format)) + " operands are not measured";
    const bool wider = size_of(request.output_dtype) > size_of(request.dtype);
    if (request.weight_dtype != request.dtype || (request.output_dtype != request.dtype && !wider))
        return "products of several dtypes are not measured";
    return "";
}

std::string unmeasured_because(const ActivationRequest& request) {
    return is_custom(request.activation) ? "a custom activation is not measured" : "";
}

std::string unmeasured_because(const LossRequest& request) {
    if (request.loss != LossKind::cross_entropy)
        return "a loss of " + std::string(name(request.loss)) + " is not measured";
    return request.per_row ? "losses of single rows are not measured" : "";
}

std::string unmeasured_because(const OptimizerRequest& request) {
    if (request.algorithm == OptimizerKind::custom) return "a custom algorithm is not measured";
    return request.gradient_dtype == request.dtype ? "" : "this form of parameters is not measured";
}

std::string unmeasured_because(const Request&) { return ""; }

}  // namespace

std::string shape_class(Kind kind, const Request& request) {
    std::string text = std::string(name(kind)) + " " + std::string(name(request.dtype)) + " " +
                       std::string(name(request.device)) + " " + std::string(name(request.layout)) + " " +
                       std::string(name(request.phase));
    for (const auto& field : fields(kind, request)) {
        if (field.name == "dtype" || field.name == "device" || field.name == "layout" ||
            field.name == "phase" || field.name == "allow_reduced" || field.name == "custom_scale")
            continue;
        auto part = text_of(field);
        if (field.name == "kv_heads") {
            const auto& attention = KindTraits<Kind::attention>::request(request);
            const auto groups = attention.heads.max / std::max<std::int64_t>(attention.kv_heads.max, 1);
            part = "head groups of " + std::to_string(groups);
        }
        if (!part.empty()) text += ", " + part;
    }
    return text;
}

std::string not_measured_because(Kind kind, const Request& request) {
    if (!facts_of(kind).measured) return "a " + std::string(name(kind)) + " is not measured";
    const auto why = visit(kind, [&](auto traits) { return unmeasured_because(traits.request(request)); });
    if (!why.empty()) return why;
    return is_floating(request.dtype) && size_of(request.dtype) >= 2
               ? ""
               : std::string(name(request.dtype)) + " is not measured";
}

}  // namespace switchyard::resolver
