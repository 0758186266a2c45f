#include "call.h"

#include <cmath>

#include <switchyard/reference/attention.h>
#include <switchyard/reference/attention_check.h>
#include <switchyard/reference/attention_mask.h>
#include <switchyard/reference/paged_keys.h>

namespace switchyard::flash {
namespace {

std::vector<std::int64_t> numbers_of(const at::Tensor& tensor) {
    const at::Tensor whole = tensor.to(at::kCPU, at::kLong).contiguous();
    const auto* data = whole.const_data_ptr<std::int64_t>();
    return {data, data + whole.numel()};
}

// Prefix, and the number for dropout.
void number(Call& call, const AttentionMask& mask) {
    std::vector<std::int64_t> prefixes;
    if (mask.kinds.has(MaskKind::prefix)) prefixes = numbers_of(mask.prefix_lengths);
    for (std::size_t i = 0; i < call.sequences.size(); ++i) {
        Sequence& sequence = call.sequences[i];
        sequence.index = static_cast<std::int64_t>(i);
        sequence.document = static_cast<std::uint32_t>(mask.first_document + sequence.index);
        if (!prefixes.empty()) sequence.prefix = prefixes[i];
    }
}

void add_padded(Call& call, const AttentionInputs& inputs, const AttentionMask& mask) {
    const std::int64_t queries = inputs.q.size(2), keys = inputs.k.size(2);
    std::vector<std::int64_t> lengths(inputs.q.size(0), keys), offsets(inputs.q.size(0), keys - queries);
    if (mask.kinds.has(MaskKind::key_lengths)) lengths = numbers_of(mask.key_lengths);
    if (mask.query_offsets.defined()) offsets = numbers_of(mask.query_offsets);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        Sequence sequence;
        sequence.queries = queries;
        sequence.keys = std::min(lengths[i], keys);
        sequence.offset = offsets[i];
        call.sequences.push_back(sequence);
    }
}

void add_paged(Call& call, const AttentionInputs& inputs, const AttentionParams& params) {
    const bool packed = params.layout == Layout::packed;
    const auto lengths = numbers_of(params.pages->lengths);
    std::vector<std::int64_t> begins, offsets;
    if (packed)
        begins = reference::sequence_offsets(params.mask.cu_seqlens_q, "cu_seqlens_q", inputs.q.size(0));
    else if (params.mask.query_offsets.defined())
        offsets = numbers_of(params.mask.query_offsets);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        Sequence sequence;
        if (packed) sequence.q_base = begins[i];
        sequence.queries = packed ? begins[i + 1] - begins[i] : inputs.q.size(2);
        sequence.keys = lengths[i];
        sequence.offset = offsets.empty() ? sequence.keys - sequence.queries : offsets[i];
        call.sequences.push_back(sequence);
    }
    auto& table = call.table;
    table.kept = params.pages->block_table.to(at::kInt).contiguous();
    table.entries = table.kept.const_data_ptr<std::int32_t>();
    table.pages = table.kept.size(1);
    table.page_size = params.pages->k_pages.size(1);
}

Rows rows_of_pages(const at::Tensor& pages) {
    Rows rows;
    rows.data = pages.data_ptr();
    rows.page = pages.stride(0);
    rows.row = pages.stride(1);
    rows.head = pages.stride(2);
    return rows;
}

void add_packed(Call& call, const AttentionInputs& inputs, const AttentionMask& mask) {
    const auto q = reference::sequence_offsets(mask.cu_seqlens_q, "cu_seqlens_q", inputs.q.size(0));
    const auto k = reference::sequence_offsets(mask.cu_seqlens_k, "cu_seqlens_k", inputs.k.size(0));
    for (std::size_t i = 0; i + 1 < q.size(); ++i) {
        Sequence sequence;
        sequence.q_base = q[i];
        sequence.k_base = k[i];
        sequence.queries = q[i + 1] - q[i];
        sequence.keys = k[i + 1] - k[i];
        sequence.offset = sequence.keys - sequence.queries;
        call.sequences.push_back(sequence);
    }
}

void add_distance_bias(Call& call, const AttentionInputs& inputs, const AttentionMask& mask) {
    const bool alibi = mask.kinds.has(MaskKind::alibi), relative = mask.kinds.has(MaskKind::relative_bias);
    if (!alibi && !relative) return;
    std::int64_t first = 0, last = 0;
    for (const auto& sequence : call.sequences) {
        first = std::min(first, -(sequence.offset + sequence.queries - 1));
        last = std::max(last, sequence.keys - 1 - sequence.offset);
    }
    call.first_distance = first;
    call.distance_span = last - first + 1;
    call.distance_bias.assign(static_cast<std::size_t>(call.heads * call.distance_span), 0.0F);
    at::Tensor slopes, table;
    if (alibi) slopes = mask.alibi_slopes.to(at::kCPU, at::kFloat).contiguous();
    if (relative) {
        table = inputs.relative_bias.to(at::kFloat).contiguous();
        call.buckets = table.size(0);
        call.bucket_of.resize(static_cast<std::size_t>(call.distance_span));
    }
    for (std::int64_t i = 0; i < call.distance_span; ++i) {
        const std::int64_t distance = first + i;
        if (relative)
            call.bucket_of[i] = reference::relative_bucket(
                distance, call.buckets, mask.relative_bidirectional, mask.relative_max_distance);
        for (std::int64_t head = 0; head < call.heads; ++head) {
            float& bias = call.distance_bias[head * call.distance_span + i];
            if (alibi) bias -= slopes.const_data_ptr<float>()[head] * static_cast<float>(std::abs(distance));
            if (relative) bias += table.const_data_ptr<float>()[call.bucket_of[i] * call.heads + head];
        }
    }
}

void add_dense_bias(Call& call, const AttentionInputs& inputs) {
    at::Tensor bias = inputs.dense_bias.to(at::kFloat);
    if (bias.size(-1) > 1 && bias.stride(-1) != 1) bias = bias.contiguous();
    std::int64_t keys = 0;  // of pages as many as the longest sequence has
    for (const auto& sequence : call.sequences) keys = std::max(keys, sequence.keys);
    if (inputs.k.defined()) keys = inputs.k.size(2);
    if (bias.size(-1) > 1) keys = bias.size(-1);
    bias = bias.expand({inputs.q.size(0), call.heads, inputs.q.size(2), keys});
    call.dense_bias = bias;
    call.dense = bias.const_data_ptr<float>();
    for (int i = 0; i < 4; ++i) call.dense_stride[i] = bias.stride(i);
}

}  // namespace

Rows rows_of(const at::Tensor& x, Layout layout) {
    Rows rows;
    rows.data = x.data_ptr();
    if (layout == Layout::padded) {
        rows.sequence = x.stride(0);
        rows.head = x.stride(1);
        rows.row = x.stride(2);
    } else {
        rows.head = x.stride(1);
        rows.row = x.stride(0);
    }
    return rows;
}

Call describe(const AttentionInputs& inputs, const AttentionParams& params) {
    const AttentionMask& mask = params.mask;
    Call call;
    call.dtype = inputs.q.scalar_type();
    call.heads = inputs.q.size(1);
    const auto* const pages = params.pages;
    call.kv_heads = pages == nullptr ? inputs.k.size(1) : pages->k_pages.size(2);
    call.head_dim = inputs.q.size(-1);
    call.v_head_dim = pages == nullptr ? inputs.v.size(-1) : pages->v_pages.size(3);
    call.q = rows_of(inputs.q, params.layout);
    call.k = pages == nullptr ? rows_of(inputs.k, params.layout) : rows_of_pages(pages->k_pages);
    call.v = pages == nullptr ? rows_of(inputs.v, params.layout) : rows_of_pages(pages->v_pages);
    call.scale = static_cast<float>(reference::attention_scale(params, call.head_dim));
    if (mask.kinds.has(MaskKind::soft_cap)) call.soft_cap = static_cast<float>(mask.soft_cap);
    call.mask.causal = mask.kinds.has(MaskKind::causal);
    if (mask.kinds.has(MaskKind::sliding_window)) {
        call.mask.window_left = mask.window_left;
        call.mask.window_right = mask.window_right;
    }
    call.dropout = params.dropout;
    if (pages != nullptr) {
        add_paged(call, inputs, params);
    } else if (params.layout == Layout::padded) {
        add_padded(call, inputs, mask);
    } else {
        add_packed(call, inputs, mask);
    }
    call.first_head = mask.first_head;
    number(call, mask);
    add_distance_bias(call, inputs, mask);
    if (mask.kinds.has(MaskKind::dense_bias)) add_dense_bias(call, inputs);
    return call;
}

GatheredKeys gather_keys(Call& call, const PagedCache& pages) {
    const auto padded = reference::padded_keys(pages, 0);
    call.table = {};
    call.k = rows_of(padded.k, Layout::padded);
    call.v = rows_of(padded.v, Layout::padded);
    return {padded.k, padded.v};
}

}  // namespace switchyard::flash
