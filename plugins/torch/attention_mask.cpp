#include "attention_mask.h"

#include <limits>
#include <utility>

#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <switchyard/reference/attention_mask.h>

namespace switchyard {
namespace {

using at::Tensor;

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr std::int64_t most_kept_values = std::int64_t{1} << 24;

// Places of queries and keys, shaped to broadcast to [B, H, N, M].
struct Places {
    Tensor key_M;          // int64 [M]
    Tensor distance_B1NM;  // int64 [N, M] or [B, 1, N, M]: j - p(i)
};

// int64 [B, 1, 1, 1], or of one packed sequence [1].
Tensor per_row(const Tensor& numbers, const MaskShape& shape) {
    return shape.sequence ? numbers.narrow(0, *shape.sequence, 1) : numbers.view({-1, 1, 1, 1});
}

Places places_of(const AttentionInputs& inputs, const AttentionMask& mask, const MaskShape& shape) {
    const auto options = inputs.q.options().dtype(at::kLong);
    Places places;
    places.key_M = at::arange(shape.keys, options);
    const auto query_N1 = at::arange(shape.queries, options).unsqueeze(1);
    const auto position = mask.query_offsets.defined() && !shape.sequence
                              ? query_N1.add(per_row(mask.query_offsets, shape))
                              : query_N1.add(shape.keys - shape.queries);
    places.distance_B1NM = places.key_M.sub(position);
    return places;
}

void narrow_to(Tensor& visible, const Tensor& condition) {
    visible = visible.defined() ? visible.logical_and(condition) : condition;
}

// bool, broadcastable to [B, H, N, M]; undefined: everything is visible.
Tensor visible_keys(const AttentionMask& mask, const Places& places, const MaskShape& shape) {
    Tensor visible;
    if (mask.kinds.has(MaskKind::causal)) visible = places.distance_B1NM.le(0);
    if (mask.kinds.has(MaskKind::sliding_window)) {
        if (mask.window_left >= 0) narrow_to(visible, places.distance_B1NM.ge(-mask.window_left));
        if (mask.window_right >= 0) narrow_to(visible, places.distance_B1NM.le(mask.window_right));
    }
    if (visible.defined() && mask.kinds.has(MaskKind::prefix)) {
        visible = visible.logical_or(places.key_M.lt(per_row(mask.prefix_lengths, shape)));
    }
    if (mask.kinds.has(MaskKind::key_lengths))
        narrow_to(visible, places.key_M.lt(per_row(mask.key_lengths, shape)));
    return visible;
}

void add_to(Tensor& bias, const Tensor& term) { bias = bias.defined() ? bias.add(term) : term; }

// The flash kernel of the CPU adds a float32 mask to scores of any type; the CUDA kernels want the type of q.
at::ScalarType bias_type(const Tensor& q) {
    return q.is_cuda() || q.scalar_type() == at::kDouble ? q.scalar_type() : at::kFloat;
}

// The sum of the biases; undefined: there is none.
Tensor biases(const AttentionInputs& inputs, const AttentionMask& mask, const Places& places) {
    Tensor bias;
    if (mask.kinds.has(MaskKind::alibi)) {
        const auto distance = places.distance_B1NM.abs().neg().to(mask.alibi_slopes.scalar_type());
        add_to(bias, distance.mul(mask.alibi_slopes.view({-1, 1, 1})));
    }
    if (mask.kinds.has(MaskKind::relative_bias)) {
        const auto& table = inputs.relative_bias;
        const auto bucket = reference::relative_buckets(
            places.distance_B1NM, table.size(0), mask.relative_bidirectional, mask.relative_max_distance);
        // As T5's layers have it; in the wide type, so that the gradient is summed up in that.
        const auto bias_NMH = at::embedding(table.to(bias_type(inputs.q)), bucket);
        add_to(bias,
               bucket.dim() == 2 ? bias_NMH.permute({2, 0, 1}) : bias_NMH.squeeze(1).permute({0, 3, 1, 2}));
    }
    if (mask.kinds.has(MaskKind::dense_bias)) add_to(bias, inputs.dense_bias);
    return bias;
}

Tensor four_dimensions(Tensor tensor) {
    while (tensor.dim() < 4) tensor = tensor.unsqueeze(0);
    return tensor;
}

SdpaMask build(const AttentionInputs& inputs, const AttentionMask& mask, const MaskShape& shape) {
    SdpaMask result;
    const auto places = places_of(inputs, mask, shape);
    auto visible = visible_keys(mask, places, shape);
    if (visible.defined() && inputs.q.is_cuda()) {
        const auto keyless = four_dimensions(visible).any(-1, true).logical_not();
        if (keyless.any().item<bool>()) {
            result.keyless = keyless;
            visible = visible.logical_or(keyless);
        }
    }
    auto bias = biases(inputs, mask, places);
    const auto type = bias.defined() ? bias_type(inputs.q) : inputs.q.scalar_type();
    if (bias.defined()) bias = bias.to(type);
    if (visible.defined()) {
        bias = bias.defined() ? at::where(visible, bias, at::scalar_tensor(minus_infinity, bias.options()))
                              : at::zeros(visible.sizes(), inputs.q.options().dtype(type))
                                    .masked_fill_(visible.logical_not(), minus_infinity);
    }
    if (bias.defined()) result.bias = four_dimensions(bias);
    return result;
}

// What needs no mask at all, or only the flag.
std::optional<SdpaMask> without_building(const AttentionMask& mask, const MaskShape& shape) {
    if (mask.kinds.within({MaskKind::documents})) return SdpaMask{};
    const bool plain_causal = mask.kinds.within({MaskKind::documents, MaskKind::causal}) &&
                              (shape.sequence || !mask.query_offsets.defined());
    if (!plain_causal) return std::nullopt;
    if (shape.queries == 1 && shape.keys >= 1) return SdpaMask{};
    if (shape.queries == shape.keys) {
        SdpaMask result;
        result.causal = true;
        return result;
    }
    return std::nullopt;
}

}  // namespace

// nullopt: the mask can't be kept, since a source is trained, or has no version to tell a change by.
std::optional<AttentionMasks::Key> AttentionMasks::key_of(const AttentionInputs& inputs,
                                                          const AttentionParams& params,
                                                          const MaskShape& shape) {
    const auto& mask = params.mask;
    if (mask.kinds.has(MaskKind::dense_bias)) return std::nullopt;
    Key key{mask.kinds,
            {shape.queries, shape.keys, static_cast<std::int64_t>(inputs.q.scalar_type()),
             inputs.q.get_device(), mask.window_left, mask.window_right, mask.relative_bidirectional,
             mask.relative_max_distance, mask.kinds.has(MaskKind::prefix) ? shape.sequence.value_or(-1) : -1},
            {}};
    const auto add = [&key](const Tensor& source) {
        if (source.is_inference() || source.requires_grad()) return false;
        key.sources.push_back({source, static_cast<std::uint32_t>(source._version())});
        return true;
    };
    if (mask.kinds.has(MaskKind::key_lengths) && !add(mask.key_lengths)) return std::nullopt;
    if (mask.query_offsets.defined() && !shape.sequence && !add(mask.query_offsets)) return std::nullopt;
    if (mask.kinds.has(MaskKind::prefix) && !add(mask.prefix_lengths)) return std::nullopt;
    if (mask.kinds.has(MaskKind::alibi) && !add(mask.alibi_slopes)) return std::nullopt;
    if (mask.kinds.has(MaskKind::relative_bias) && !add(inputs.relative_bias)) return std::nullopt;
    return key;
}

SdpaMask AttentionMasks::make(const AttentionInputs& inputs, const AttentionParams& params,
                              const MaskShape& shape) {
    if (const auto ready = without_building(params.mask, shape)) return *ready;
    auto key = key_of(inputs, params, shape);
    if (!key) return build(inputs, params.mask, shape);
    for (const auto& kept : kept_) {
        if (kept.key == *key) return kept.mask;
    }
    auto mask = build(inputs, params.mask, shape);
    const auto values = mask.bias ? mask.bias->numel() : 0;
    if (kept_.size() >= 64 || kept_values_ + values > most_kept_values) {
        kept_.clear();
        kept_values_ = 0;
    }
    kept_values_ += values;
    kept_.push_back({std::move(*key), mask});
    return mask;
}

}  // namespace switchyard
