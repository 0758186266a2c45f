#include "core/kernel/resolver/field_keys.h"

#include <algorithm>
#include <optional>

namespace switchyard::resolver {
namespace {

struct KeyedField {
    std::optional<Kind> kind;  // nullopt: every kind that has no entry of its own
    std::string_view field;
    std::string_view keys;  // with a space between
};

// To say where a field comes from: a line here.
constexpr KeyedField keyed_fields[] = {
    {{}, "dtype", "precision.compute_dtype precision.backend"},
    {{}, "device", "run.device"},
    {{}, "layout", "batch.layout"},
    {{}, "phase", "run.phases"},
    {{}, "needs_grad", "run.phases"},
    {{}, "deterministic", "run.deterministic"},
    {{}, "rows", "batch.size batch.tokens batch.max_length"},

    {Kind::attention, "batch", "batch.size"},
    {Kind::attention, "heads", "model.heads"},
    {Kind::attention, "kv_heads", "model.kv_heads model.heads"},
    {Kind::attention, "q_length", "batch.min_length batch.max_length"},
    {Kind::attention, "kv_length", "batch.min_length batch.max_length"},
    {Kind::attention, "head_dim", "model.head_dim model.hidden_size model.heads"},
    {Kind::attention, "v_head_dim", "model.head_dim model.hidden_size model.heads"},
    {Kind::attention, "bias_gradient", "model.positions"},
    {Kind::attention, "dropout", "model.attention_dropout"},
    {Kind::attention, "paged_cache", "cache.kind"},
    {Kind::attention, "query_offsets", "run.phases"},
    {Kind::attention, "custom_scale", "model.positions"},

    {Kind::normalization, "norm", "model.norm"},
    {Kind::normalization, "width", "model.hidden_size"},
    {Kind::normalization, "parameter_dtype", "precision.parameter_dtype precision.backend"},
    {Kind::normalization, "affine_bias", "model.bias"},
    {Kind::normalization, "input_bias", "model.bias"},
    {Kind::normalization, "dropout", "model.dropout"},

    {Kind::activation, "activation", "model.activation"},
    {Kind::activation, "width", "model.intermediate_size model.hidden_size"},
    {Kind::activation, "input_bias", "model.bias"},
    {Kind::activation, "dropout", "model.dropout"},

    {Kind::loss, "loss", "loss.function task.kind"},
    {Kind::loss, "value_targets", "task.kind"},
    {Kind::loss, "classes", "model.vocab_size"},
    {Kind::loss, "width", "model.hidden_size"},
    {Kind::loss, "projection", "loss.projection"},
    {Kind::loss, "label_smoothing", "loss.label_smoothing"},
    {Kind::loss, "z_loss", "loss.z_loss"},

    {Kind::optimizer, "dtype", "precision.parameter_dtype precision.backend"},
    {Kind::optimizer, "gradient_dtype", "precision.parameter_dtype precision.backend"},
    {Kind::optimizer, "master_weights", "precision.parameter_dtype precision.backend"},
    {Kind::optimizer, "unscale", "precision.loss_scaling precision.backend"},
    {Kind::optimizer, "algorithm", "optimizer.algorithm"},
    {Kind::optimizer, "clip", "optimizer.max_grad_norm"},

    {Kind::precision, "dtype", "precision.parameter_dtype"},
    {Kind::precision, "loss_scaling", "precision.loss_scaling"},

    {Kind::data_loader, "dtype", ""},
    {Kind::data_loader, "batch", "batch.size"},
    {Kind::data_loader, "length", "batch.max_length"},
    {Kind::data_loader, "token_budget", "batch.tokens"},

    {Kind::linear, "in", "model.hidden_size model.intermediate_size"},
    {Kind::linear, "out", "model.hidden_size model.intermediate_size"},
    {Kind::linear, "weight_dtype", "precision.compute_dtype precision.backend"},
    {Kind::linear, "output_dtype", "precision.compute_dtype precision.backend"},
    {Kind::linear, "bias", "model.bias"},
    {Kind::linear, "tf32", "precision.backend"},
    {Kind::linear, "weight_format", "quantization.method precision.backend"},
    {Kind::linear, "weight_bits", "quantization.method"},
    {Kind::linear, "weight_group", "quantization.group"},
    {Kind::linear, "zero_points", "quantization.zero_points"},
    {Kind::linear, "input_quantization", "quantization.method"},
};

struct MaskKeys {
    MaskKind mask;
    std::string_view keys;
};
constexpr MaskKeys mask_keys[] = {
    {MaskKind::causal, "model.type"},
    {MaskKind::key_lengths, "batch.layout batch.min_length"},
    {MaskKind::documents, "batch.layout"},
    {MaskKind::sliding_window, "model.window"},
    {MaskKind::prefix, "model.prefix"},
    {MaskKind::alibi, "model.positions"},
    {MaskKind::relative_bias, "model.positions"},
    {MaskKind::soft_cap, "model.soft_cap"},
};

std::vector<std::string_view> split(std::string_view text, std::string_view between) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const auto end = std::min(text.find(between), text.size());
        parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + between.size(), text.size()));
    }
    return parts;
}

bool generates(const Request& request) {
    return request.phase == Phase::prefill || request.phase == Phase::decode;
}

std::vector<std::string_view> keys_of_field(Kind kind, const Request& request, std::string_view field) {
    // Rows of a prompt are padded, and of any length, whatever [batch] says.
    if (generates(request) && field == "layout") return {};
    if (request.phase == Phase::decode && field == "q_length") return {"cache.step_tokens"};
    if (generates(request) && (field == "q_length" || field == "kv_length")) return {"batch.max_length"};
    const KeyedField* found = nullptr;
    for (const KeyedField& entry : keyed_fields) {
        const bool of_kind = entry.kind == kind;
        if (entry.field == field && (of_kind || (!entry.kind && found == nullptr))) found = &entry;
    }
    return found == nullptr ? std::vector<std::string_view>{} : split(found->keys, " ");
}

std::vector<FieldKeys> keys_of_masks(const AttentionRequest& request) {
    std::vector<FieldKeys> list;
    for (const auto& [mask, keys] : mask_keys) {
        if (!request.masks.has(mask)) continue;
        if (generates(request) && mask == MaskKind::key_lengths) continue;
        list.push_back({"masks: " + std::string(name(mask)), split(keys, " ")});
    }
    return list;
}

}  // namespace

std::vector<FieldKeys> keys_of(Kind kind, const Request& request, std::string_view reason_field) {
    std::vector<FieldKeys> list;
    for (const std::string_view field : split(reason_field, ", ")) {
        if (kind == Kind::attention && field.starts_with("mask")) {
            for (auto& one : keys_of_masks(KindTraits<Kind::attention>::request(request)))
                list.push_back(std::move(one));
            continue;
        }
        auto keys = keys_of_field(kind, request, field);
        if (!keys.empty()) list.push_back({std::string(field), std::move(keys)});
    }
    return list;
}

}  // namespace switchyard::resolver
