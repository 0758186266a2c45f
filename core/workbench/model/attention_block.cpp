#include "core/workbench/model/attention_block.h"

#include <algorithm>

#include <ATen/ops/full.h>

#include <switchyard/interfaces/torch_types.h>
#include "core/kernel/runtime/call_observer.h"
#include "core/workbench/model/cache/decoding_cache.h"
#include "core/workbench/model/sequences.h"

namespace switchyard::model {
namespace {

// Keys and values come from a cache.
bool decodes(const ForwardContext& context) {
    return context.cached != nullptr && context.phase == Phase::decode;
}

}  // namespace

AttentionBlock::AttentionBlock(Builder& builder, const config::LayerConfig& layer, const config::LayerId& id,
                               bool cross)
    : model_(layer.model), id_(id), cross_(cross) {
    const auto base = config::to_string(id) + (cross ? ".cross." : ".attention.");
    const auto width = model_.hidden_size;
    const auto all_q = model_.heads * model_.head_dim, all_kv = model_.kv_heads * model_.head_dim;
    const auto& part = builder.part();
    model_.heads /= part.parts, model_.kv_heads /= part.parts;
    first_head_ = part.index * model_.heads;
    const auto q = model_.heads * model_.head_dim, kv = model_.kv_heads * model_.head_dim;
    builder.begin_part(cross ? "cross-attention" : "attention", &id);
    const auto linear = [&](const char* name, LinearRole role, std::int64_t in, std::int64_t out) {
        const bool of_memory = cross && role == LinearRole::key_value;
        const LinearCut cut{role == LinearRole::attention_out ? LinearCut::in : LinearCut::out};
        return builder.linear({base + name, role, layer.linear, id, of_memory, cut}, in, out, model_.bias);
    };
    query_ = linear("q", LinearRole::query, width, all_q);
    key_ = linear("k", LinearRole::key_value, width, all_kv);
    value_ = linear("v", LinearRole::key_value, width, all_kv);
    const auto pairs = cross                                       ? Unit::cross_pairs
                       : builder.side_of(id.stack) == Unit::target ? Unit::target_pairs
                                                                   : Unit::source_pairs;
    builder.add_attention(pairs, q, cross ? 0 : model_.window);
    out_ = linear("out", LinearRole::attention_out, all_q, width);
    attention_ = builder.slot<runtime::AttentionOp>(
        {Kind::attention, cross ? "attention.cross" : "attention", config::to_string(id), layer.attention,
         id},
        [&](const Requests& requests, Phase phase) { return request(requests, phase, layer.attention); });
    const auto keys = builder.config().batch.max_length;
    builder.add_costs(builder.tokens(),
                      2 * q + 2 * kv + width + builder.kept_between_blocks(width) + model_.heads * keys);
}

AttentionRequest AttentionBlock::request(const Requests& requests, Phase phase,
                                         const config::SlotConfig& slot) const {
    auto r = requests.make<AttentionRequest>(OpClass::attention, config::to_string(id_), phase, slot);
    r.batch = requests.batch(phase);
    r.heads = model_.heads;
    r.kv_heads = model_.kv_heads;
    r.head_dim = r.v_head_dim = model_.head_dim;
    r.q_length = requests.query_lengths(phase);
    r.kv_length = requests.lengths(phase);
    r.paged_cache = requests.reads_pages(phase, r.dtype);
    r.dropout = phase == Phase::train ? model_.attention_dropout : 0.0;
    const bool packed = r.layout == Layout::packed;
    if (packed)
        r.masks.insert(MaskKind::documents);
    else if (!r.kv_length.single() || Requests::generates(phase))
        r.masks.insert(MaskKind::key_lengths);
    if (model_.soft_cap > 0) r.masks.insert(MaskKind::soft_cap);
    r.custom_scale = has_own_scale();
    if (cross_) return r;

    r.query_offsets = phase == Phase::decode;  // CachedStep::offsets
    const bool causal = config::ModelConfig::causal(id_.stack);
    if (causal) r.masks.insert(MaskKind::causal);
    if (causal && model_.prefix > 0) r.masks.insert(MaskKind::prefix);
    if (model_.window > 0) r.masks.insert(MaskKind::sliding_window);
    if (model_.positions == config::Positions::alibi) r.masks.insert(MaskKind::alibi);
    if (model_.positions == config::Positions::t5) {
        r.masks.insert(MaskKind::relative_bias);
        r.bias_gradient = r.needs_grad;
    }
    return r;
}

// A view: [B, H, N, D] over memory that lies as [B, N, H, D], or [T, H, D].
at::Tensor AttentionBlock::heads_of(const at::Tensor& projected, std::int64_t heads, Layout layout) const {
    if (layout == Layout::packed) return projected.view({projected.size(0), heads, model_.head_dim});
    return projected.view({projected.size(0), projected.size(1), heads, model_.head_dim}).transpose(1, 2);
}

// Of new tokens over all that the cache holds. Where rows are of one length nothing needs to be said.
AttentionMask AttentionBlock::mask(const CachedStep& step) const {
    AttentionMask mask;
    const auto& lengths = cross_ ? step.source_lengths : step.lengths;
    if (lengths.defined()) {
        mask.kinds.insert(MaskKind::key_lengths);
        mask.key_lengths = lengths;
    }
    if (!cross_) mask.query_offsets = step.offsets;
    return mask;
}

AttentionParams AttentionBlock::params(const ForwardContext& context, const PositionTables& tables,
                                       const at::Tensor& q, const Tokens& queries, const Tokens& keys) const {
    AttentionParams params;
    params.layout = queries.layout;
    params.mask = decodes(context) ? mask(*context.cached) : batch_mask(queries, keys);
    params.dropout = context.dropout(
        model_.attention_dropout, cross_ ? DropoutSite::cross : DropoutSite::attention, id_.stack, id_.index);
    auto& mask = params.mask;
    mask.first_head = first_head_;
    if (model_.soft_cap > 0.0) {
        mask.kinds.insert(MaskKind::soft_cap);
        mask.soft_cap = model_.soft_cap;
    }
    if (has_own_scale()) params.scale = 1.0;
    if (cross_) return params;

    const bool causal = config::ModelConfig::causal(id_.stack);
    const auto longest = decodes(context) ? context.cached->longest : q.size(2);
    if (causal) mask.kinds.insert(MaskKind::causal);
    if (causal && model_.prefix > 0) {
        mask.kinds.insert(MaskKind::prefix);
        // A sequence may be shorter than the prefix.
        mask.prefix_lengths =
            queries.layout == Layout::packed
                ? queries.cu_seqlens.diff().clamp_max(model_.prefix)
                : at::full({q.size(0)}, std::min(model_.prefix, longest), q.options().dtype(at::kInt));
    }
    if (model_.window > 0) {
        mask.kinds.insert(MaskKind::sliding_window);
        mask.window_left = model_.window - 1;
        mask.window_right = causal ? 0 : model_.window - 1;
    }
    if (model_.positions == config::Positions::alibi) {
        mask.kinds.insert(MaskKind::alibi);
        mask.alibi_slopes = tables.slopes;
    }
    if (model_.positions == config::Positions::t5) {
        mask.kinds.insert(MaskKind::relative_bias);
        mask.relative_bidirectional = !causal;
    }
    return params;
}

AttentionInputs AttentionBlock::inputs(const ForwardContext& context, const PositionTables& tables,
                                       const AttentionSources& from, Layout layout,
                                       const PagedCache*& pages) const {
    const bool projected_before = decodes(context) && cross_;
    AttentionInputs inputs;
    inputs.q = heads_of(query_(context.phase, from.query), model_.heads, layout);
    if (!projected_before) {
        inputs.k = heads_of(key_(context.phase, from.key), model_.kv_heads, layout);
        inputs.v = heads_of(value_(context.phase, from.value), model_.kv_heads, layout);
    }
    if (model_.positions == config::Positions::rotary && !cross_) {
        inputs.q = rotate(inputs.q, tables.rotary.cos, tables.rotary.sin);
        inputs.k = rotate(inputs.k, tables.rotary.cos, tables.rotary.sin);
    }
    if (model_.positions == config::Positions::t5 && !cross_) inputs.relative_bias = tables.relative_bias;
    const auto dtype = to_scalar_type(attention_.dtype(context.phase));
    inputs.q = inputs.q.to(dtype);
    if (!projected_before) inputs.k = inputs.k.to(dtype), inputs.v = inputs.v.to(dtype);
    if (context.cached != nullptr) cache(*context.cached, context.phase, inputs, pages);
    return inputs;
}

void AttentionBlock::cache(const CachedStep& step, Phase phase, AttentionInputs& inputs,
                           const PagedCache*& pages) const {
    KvCache& cache = cross_ ? *step.cross : *step.self;
    if (inputs.k.defined()) {
        if (step.places.defined())
            cache.write_at(id_.index, inputs.k, inputs.v, step.places);
        else
            cache.write(id_.index, inputs.k, inputs.v);
    }
    if (phase != Phase::decode) return;
    const auto all = cache.keys(id_.index);
    inputs.k = all.k;
    inputs.v = all.v;
    pages = all.pages;
}

Delta AttentionBlock::operator()(const ForwardContext& context, const PositionTables& tables,
                                 const AttentionSources& from, const Tokens& tokens, const Tokens& keys,
                                 bool keep_bias) const {
    const runtime::PlaceScope place(
        [&] { return config::to_string(id_) + (cross_ ? ".cross" : ".attention"); });
    const PagedCache* pages = nullptr;
    const auto q_k_v = inputs(context, tables, from, tokens.layout, pages);
    auto with = params(context, tables, q_k_v.q, tokens, keys);
    with.pages = pages;
    const auto out = attention_[context.phase](q_k_v, with).out;

    const auto width = model_.heads * model_.head_dim;
    const auto joined = tokens.layout == Layout::packed
                            ? out.reshape({out.size(0), width})
                            : out.transpose(1, 2).reshape({out.size(0), out.size(2), width});
    if (!keep_bias) return {out_(context.phase, joined), {}};
    return {out_.without_bias(context.phase, joined), out_.bias};
}

}  // namespace switchyard::model
