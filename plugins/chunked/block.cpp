#include "block.h"

#include <algorithm>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <switchyard/reference/attention.h>
#include <switchyard/reference/attention_mask.h>
#include <switchyard/reference/dropout_mask.h>
#include <switchyard/reference/numeric.h>

namespace switchyard::chunked {
namespace {

at::Tensor counting(Span span, const at::Tensor& like) {
    return at::arange(span.begin, span.end, like.options().dtype(at::kLong).requires_grad(false));
}

Bounds bounds_of(const at::Tensor& numbers) {
    if (!numbers.is_cpu() || numbers.numel() == 0) return std::nullopt;
    return Span{numbers.min().item<std::int64_t>(), numbers.max().item<std::int64_t>()};
}

reference::ScoreGeometry geometry_of(const Block& block, const Rectangle& rectangle) {
    reference::ScoreGeometry geometry;
    geometry.position_BN = counting(rectangle.queries, block.q_BHND) + block.offset_B.unsqueeze(1);
    geometry.key_M = counting(rectangle.keys, block.q_BHND);
    geometry.key_length_B = block.key_length_B;
    geometry.prefix_length_B = block.prefix_length_B;
    return geometry;
}

// A dimension that is not broadcast, cut to the span.
at::Tensor cut(const at::Tensor& x, std::int64_t dimension, Span span) {
    return x.size(dimension) == 1 ? x : x.narrow(dimension, span.begin, span.size());
}

// scale * left * right^T, summed up in float32 at least and not rounded to less: of a score of 100 bfloat16
// would leave the softmax a choice between 100 and 100.5.
at::Tensor wide_product(const at::Tensor& left, const at::Tensor& right, double scale) {
    const at::Tensor columns = right.transpose(1, 2);
    const bool narrow = left.scalar_type() == at::kBFloat16 || left.scalar_type() == at::kHalf;
    // LibTorch has a product of 16-bit numbers that is float32 for a device only.
    if (narrow && left.is_cuda()) return at::bmm(left, columns, at::kFloat).mul_(scale);
    const at::Tensor a = reference::wide(left), b = reference::wide(columns);
    return at::empty({a.size(0), a.size(1), b.size(2)}, a.options()).baddbmm_(a, b, 0.0, scale);
}

void add_biases(const Block& block, const AttentionParams& params, const Rectangle& rectangle,
                const reference::ScoreGeometry& geometry, Scores& result) {
    const AttentionMask& mask = params.mask;
    at::Tensor& s = result.s_BHnm;
    const bool alibi = mask.kinds.has(MaskKind::alibi);
    if (alibi || block.relative_bias.defined()) {
        const at::Tensor distance_Bnm = geometry.key_M - geometry.position_BN.unsqueeze(-1);
        if (alibi) {
            const at::Tensor slope_H11 = mask.alibi_slopes.to(s.scalar_type()).view({-1, 1, 1});
            s.sub_(slope_H11 * distance_Bnm.abs().unsqueeze(1));
        }
        if (block.relative_bias.defined()) {
            const at::Tensor& table = block.relative_bias;
            result.bucket_Bnm = reference::relative_buckets(
                distance_Bnm, table.size(0), mask.relative_bidirectional, mask.relative_max_distance);
            // Row by head, so that what is looked up needs no transposition.
            const at::Tensor table_Hb = table.to(s.scalar_type()).t().contiguous();
            const at::Tensor bias_HBnm = table_Hb.index_select(1, result.bucket_Bnm.reshape({-1}));
            const auto& sizes = result.bucket_Bnm.sizes();
            s.add_(bias_HBnm.view({table.size(1), sizes[0], sizes[1], sizes[2]}).transpose(0, 1));
        }
    }
    if (block.dense_bias.defined())
        s.add_(cut(cut(block.dense_bias, 2, rectangle.queries), 3, rectangle.keys));
}

at::Tensor four_dimensions(at::Tensor x) {
    while (x.defined() && x.dim() < 4) x = x.unsqueeze(0);
    return x;
}

Block block_of(const at::Tensor& q_BHND, const at::Tensor& k_BKMD, const at::Tensor& v_BKME,
               const AttentionInputs& inputs, const AttentionMask& mask) {
    Block block;
    block.q_BHND = q_BHND;
    block.k_BKMD = k_BKMD.contiguous();
    block.v_BKME = v_BKME.contiguous();
    if (mask.kinds.has(MaskKind::relative_bias)) block.relative_bias = inputs.relative_bias;
    if (mask.kinds.has(MaskKind::dense_bias)) block.dense_bias = four_dimensions(inputs.dense_bias);
    const std::int64_t offset = k_BKMD.size(2) - q_BHND.size(2);
    block.offset_B = at::full({1}, offset, q_BHND.options().dtype(at::kLong));
    block.offsets = Span{offset, offset};
    block.first_document = mask.first_document;
    return block;
}

}  // namespace

Block padded_block(const AttentionInputs& inputs, const AttentionParams& params) {
    const AttentionMask& mask = params.mask;
    Block block = block_of(inputs.q, inputs.k, inputs.v, inputs, mask);
    if (mask.query_offsets.defined()) {
        block.offset_B = mask.query_offsets.to(at::kLong);
        block.offsets = bounds_of(block.offset_B);
    }
    if (mask.kinds.has(MaskKind::key_lengths)) {
        block.key_length_B = mask.key_lengths.to(at::kLong);
        block.key_lengths = bounds_of(block.key_length_B);
    }
    if (mask.kinds.has(MaskKind::prefix)) {
        block.prefix_length_B = mask.prefix_lengths.to(at::kLong);
        block.prefix_lengths = bounds_of(block.prefix_length_B);
    }
    return block;
}

Block packed_block(const AttentionInputs& inputs, const AttentionParams& params, std::int64_t sequence,
                   Span queries, Span keys) {
    const auto part = [](const at::Tensor& packed, Span span) {
        return packed.narrow(0, span.begin, span.size()).transpose(0, 1).unsqueeze(0);
    };
    Block block =
        block_of(part(inputs.q, queries), part(inputs.k, keys), part(inputs.v, keys), inputs, params.mask);
    if (params.mask.kinds.has(MaskKind::prefix)) {
        block.prefix_length_B = params.mask.prefix_lengths.narrow(0, sequence, 1).to(at::kLong);
        block.prefix_lengths = bounds_of(block.prefix_length_B);
    }
    block.first_document += sequence;
    return block;
}

Span visible_keys(const Block& block, const AttentionMask& mask, Span queries) {
    Span seen{0, block.keys()};
    const bool windowed = mask.kinds.has(MaskKind::sliding_window);
    if (block.offsets) {
        const std::int64_t last = queries.end - 1 + block.offsets->end;
        if (mask.kinds.has(MaskKind::causal)) seen.end = std::min(seen.end, last + 1);
        if (windowed && mask.window_right >= 0) seen.end = std::min(seen.end, last + mask.window_right + 1);
        if (windowed && mask.window_left >= 0)
            seen.begin = std::max(seen.begin, queries.begin + block.offsets->begin - mask.window_left);
    }
    if (mask.kinds.has(MaskKind::prefix)) {
        seen.begin = 0;
        const std::int64_t prefix = block.prefix_lengths ? block.prefix_lengths->end : block.keys();
        seen.end = std::max(seen.end, std::min(prefix, block.keys()));
    }
    if (block.key_lengths) seen.end = std::min(seen.end, block.key_lengths->end);
    seen.begin = std::min(seen.begin, block.keys());
    seen.end = std::max(seen.end, seen.begin);
    return seen;
}

Scores scores(const Block& block, const AttentionParams& params, const at::Tensor& q_BKgD,
              const Rectangle& rectangle, bool want_slope) {
    Scores result;
    result.s_BHnm = wide_product(q_BKgD, columns_of(block.k_BKMD, rectangle.keys),
                                 reference::attention_scale(params, block.q_BHND.size(3)))
                        .view({block.q_BHND.size(0), block.q_BHND.size(1), rectangle.queries.size(),
                               rectangle.keys.size()});
    at::Tensor& s = result.s_BHnm;
    if (params.mask.kinds.has(MaskKind::soft_cap) && params.mask.soft_cap > 0.0) {
        s.div_(params.mask.soft_cap).tanh_();
        if (want_slope) result.slope_BHnm = s.square().neg_().add_(1.0);
        s.mul_(params.mask.soft_cap);
    }
    const reference::ScoreGeometry geometry = geometry_of(block, rectangle);
    add_biases(block, params, rectangle, geometry, result);
    const at::Tensor seen_Bnm = reference::visible(params.mask, geometry);
    if (seen_Bnm.defined()) s.masked_fill_(seen_Bnm.logical_not().unsqueeze(1), -infinity);
    return result;
}

at::Tensor kept(const Block& block, const AttentionParams& params, const Rectangle& rectangle) {
    return reference::attention_keep_rectangle(
        params.dropout, block.first_document, block.q_BHND.size(0),
        {params.mask.first_head, block.q_BHND.size(1)}, {rectangle.queries.begin, rectangle.queries.size()},
        {rectangle.keys.begin, rectangle.keys.size()}, block.q_BHND.device());
}

at::Tensor rows_of(const at::Tensor& x_BHND, Span queries, std::int64_t kv_heads) {
    const at::Tensor chunk = x_BHND.narrow(2, queries.begin, queries.size());
    const std::int64_t group = x_BHND.size(1) / kv_heads;
    return chunk.contiguous().view({x_BHND.size(0) * kv_heads, group * queries.size(), x_BHND.size(3)});
}

at::Tensor columns_of(const at::Tensor& x_BKMD, Span keys) {
    return x_BKMD.flatten(0, 1).narrow(1, keys.begin, keys.size());
}

}  // namespace switchyard::chunked
