// Legend:  B sequences of a block  H heads  K kv heads  G = H / K  N queries  M keys  D head_dim
//          E v_head_dim
#include <switchyard/reference/attention.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <switchyard/reference/attention_check.h>
#include <switchyard/reference/attention_mask.h>
#include <switchyard/reference/dropout_mask.h>
#include <switchyard/reference/numeric.h>
#include <switchyard/reference/paged_keys.h>

namespace switchyard::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Sequences of one shape, attended to together: a padded batch, one packed sequence, or one sequence of a
// paged cache.
struct Block {
    at::Tensor q_BHND, k_BKMD, v_BKME;
    at::Tensor relative_bias, dense_bias;
    ScoreGeometry geometry;
    std::int64_t first_document = 0;
};

struct BlockOutputs {
    at::Tensor out_BHNE, lse_BHN;
};

at::Tensor counting(std::int64_t count, const at::Tensor& like) {
    return at::arange(count, like.options().dtype(at::kLong).requires_grad(false));
}

// Head h reads kv head h / G.
at::Tensor for_every_head(const at::Tensor& x_BKMD, std::int64_t heads) {
    const std::int64_t kv_heads = x_BKMD.size(1);
    if (kv_heads == heads) return x_BKMD;
    return x_BKMD.unsqueeze(2)
        .expand({x_BKMD.size(0), kv_heads, heads / kv_heads, x_BKMD.size(2), x_BKMD.size(3)})
        .reshape({x_BKMD.size(0), heads, x_BKMD.size(2), x_BKMD.size(3)});
}

// Zeros instead of what lies past each sequence's keys, so that a weight of zero times NaN is no NaN.
at::Tensor without_padding(const at::Tensor& x_BKMD, const ScoreGeometry& geometry) {
    if (!geometry.key_length_B.defined()) return x_BKMD;
    const at::Tensor padding_BM = geometry.key_M.ge(geometry.key_length_B.unsqueeze(1));
    return x_BKMD.masked_fill(padding_BM.unsqueeze(1).unsqueeze(-1), 0.0);
}

at::Tensor scores(const Block& block, const AttentionParams& params) {
    const at::Tensor k_BHMD =
        for_every_head(without_padding(block.k_BKMD, block.geometry), block.q_BHND.size(1));
    at::Tensor s = wide(block.q_BHND).matmul(wide(k_BHMD).transpose(-2, -1)) *
                   attention_scale(params, block.q_BHND.size(-1));
    if (params.mask.kinds.has(MaskKind::soft_cap) && params.mask.soft_cap > 0.0) {
        s = (s / params.mask.soft_cap).tanh() * params.mask.soft_cap;
    }
    s = add_position_biases(s, params.mask, block.relative_bias, block.geometry);
    if (block.dense_bias.defined()) s = s + block.dense_bias.to(s.scalar_type());
    const at::Tensor seen_BNM = visible(params.mask, block.geometry);
    return seen_BNM.defined() ? s.masked_fill(seen_BNM.logical_not().unsqueeze(1), -infinity) : s;
}

// softmax, with zeros in the rows that see no key.
at::Tensor probabilities(const at::Tensor& s_BHNM) {
    const at::Tensor unseen = s_BHNM.detach().eq(-infinity).all(-1, true);
    return s_BHNM.masked_fill(unseen, 0.0).softmax(-1).masked_fill(unseen, 0.0);
}

BlockOutputs attend(const Block& block, const AttentionParams& params) {
    const at::Tensor& q = block.q_BHND;
    const at::Tensor s = scores(block, params);
    at::Tensor p = probabilities(s);
    if (params.dropout.active()) {
        const at::Tensor keep =
            attention_keep_mask(params.dropout, block.first_document, s.size(0),
                                {params.mask.first_head, s.size(1)}, s.size(2), s.size(3), s.device());
        p = apply_dropout(p, keep, params.dropout);
    }
    const at::Tensor v_BHME = for_every_head(without_padding(block.v_BKME, block.geometry), q.size(1));
    BlockOutputs outputs;
    outputs.out_BHNE = p.to(q.scalar_type()).matmul(v_BHME);
    if (params.want_lse) outputs.lse_BHN = s.detach().logsumexp(-1);
    return outputs;
}

// p(i) = i + offset of each sequence, offset_B int64.
at::Tensor positions(const at::Tensor& offset_B, std::int64_t queries) {
    return counting(queries, offset_B) + offset_B.unsqueeze(1);
}

AttentionOutputs attend_padded(const AttentionInputs& inputs, const AttentionParams& params) {
    const AttentionMask& mask = params.mask;
    Block block{inputs.q,          inputs.k, inputs.v,           inputs.relative_bias,
                inputs.dense_bias, {},       mask.first_document};
    const std::int64_t queries = inputs.q.size(2);
    const std::int64_t keys = inputs.k.size(2);
    const at::Tensor offset_B = mask.query_offsets.defined()
                                    ? mask.query_offsets.to(at::kLong)
                                    : counting(1, inputs.q).add(keys - queries).expand({inputs.q.size(0)});
    block.geometry.position_BN = positions(offset_B, queries);
    block.geometry.key_M = counting(keys, inputs.q);
    if (mask.kinds.has(MaskKind::key_lengths)) block.geometry.key_length_B = mask.key_lengths.to(at::kLong);
    if (mask.kinds.has(MaskKind::prefix)) block.geometry.prefix_length_B = mask.prefix_lengths.to(at::kLong);
    const BlockOutputs outputs = attend(block, params);
    return {outputs.out_BHNE, outputs.lse_BHN};
}

// One sequence by itself: queries q_1HND, keys [begin_k, end_k) of packed ones or those of its pages.
BlockOutputs attend_sequence(const AttentionInputs& inputs, const AttentionParams& params,
                             std::int64_t sequence, const at::Tensor& q_1HND, std::int64_t begin_k,
                             std::int64_t end_k) {
    Block block;
    block.q_BHND = q_1HND;
    if (params.pages != nullptr) {
        const auto length = params.pages->lengths[sequence].item<std::int64_t>();
        block.k_BKMD = gather_pages(params.pages->k_pages, *params.pages, sequence, length);
        block.v_BKME = gather_pages(params.pages->v_pages, *params.pages, sequence, length);
    } else {
        block.k_BKMD = inputs.k.narrow(0, begin_k, end_k - begin_k).transpose(0, 1).unsqueeze(0);
        block.v_BKME = inputs.v.narrow(0, begin_k, end_k - begin_k).transpose(0, 1).unsqueeze(0);
    }
    block.relative_bias = inputs.relative_bias;
    const std::int64_t queries = q_1HND.size(2);
    const std::int64_t keys = block.k_BKMD.size(2);
    if (inputs.dense_bias.defined()) {
        const at::Tensor& all = inputs.dense_bias;
        block.dense_bias = all.dim() == 4 && all.size(0) > 1 ? all.narrow(0, sequence, 1) : all;
        // It is as wide as the longest sequence of the pages.
        if (all.size(-1) > keys) block.dense_bias = block.dense_bias.narrow(-1, 0, keys);
    }
    const bool own_offset = params.layout == Layout::padded && params.mask.query_offsets.defined();
    const at::Tensor offset_1 = own_offset ? params.mask.query_offsets.narrow(0, sequence, 1).to(at::kLong)
                                           : counting(1, q_1HND).add(keys - queries);
    block.geometry.position_BN = positions(offset_1, queries);
    block.geometry.key_M = counting(keys, q_1HND);
    if (params.mask.kinds.has(MaskKind::prefix)) {
        block.geometry.prefix_length_B = params.mask.prefix_lengths.narrow(0, sequence, 1).to(at::kLong);
    }
    block.first_document = params.mask.first_document + sequence;
    return attend(block, params);
}

// Of no sequences: empty, and with gradients of zero for the inputs.
AttentionOutputs attend_none(const AttentionInputs& inputs, const AttentionParams& params,
                             at::IntArrayRef out_sizes) {
    AttentionOutputs outputs;
    outputs.out = inputs.q.new_zeros(out_sizes);
    for (const at::Tensor* input :
         {&inputs.q, &inputs.k, &inputs.v, &inputs.relative_bias, &inputs.dense_bias})
        if (input->defined()) outputs.out = outputs.out + input->sum().to(inputs.q.scalar_type());
    if (params.want_lse) outputs.lse = wide(inputs.q).new_zeros(out_sizes.slice(0, out_sizes.size() - 1));
    return outputs;
}

AttentionOutputs attend_packed(const AttentionInputs& inputs, const AttentionParams& params) {
    const std::vector<std::int64_t> q_begin =
        sequence_offsets(params.mask.cu_seqlens_q, "cu_seqlens_q", inputs.q.size(0));
    std::vector<std::int64_t> k_begin(q_begin.size(), 0);
    if (params.pages == nullptr)
        k_begin = sequence_offsets(params.mask.cu_seqlens_k, "cu_seqlens_k", inputs.k.size(0));
    std::vector<at::Tensor> out, lse;
    for (std::size_t s = 0; s + 1 < q_begin.size(); ++s) {
        const at::Tensor q =
            inputs.q.narrow(0, q_begin[s], q_begin[s + 1] - q_begin[s]).transpose(0, 1).unsqueeze(0);
        const BlockOutputs one =
            attend_sequence(inputs, params, static_cast<std::int64_t>(s), q, k_begin[s], k_begin[s + 1]);
        out.push_back(one.out_BHNE.squeeze(0).transpose(0, 1));
        if (params.want_lse) lse.push_back(one.lse_BHN.squeeze(0).transpose(0, 1));
    }
    const std::int64_t v_dim = params.pages != nullptr ? params.pages->v_pages.size(3) : inputs.v.size(2);
    if (out.empty()) return attend_none(inputs, params, {0, inputs.q.size(1), v_dim});
    return {at::cat(out), params.want_lse ? at::cat(lse) : at::Tensor()};
}

AttentionOutputs attend_pages(const AttentionInputs& inputs, const AttentionParams& params) {
    std::vector<at::Tensor> out, lse;
    for (std::int64_t b = 0; b < inputs.q.size(0); ++b) {
        const BlockOutputs one = attend_sequence(inputs, params, b, inputs.q.narrow(0, b, 1), 0, 0);
        out.push_back(one.out_BHNE);
        if (params.want_lse) lse.push_back(one.lse_BHN);
    }
    if (out.empty())
        return attend_none(inputs, params,
                           {0, inputs.q.size(1), inputs.q.size(2), params.pages->v_pages.size(3)});
    return {at::cat(out), params.want_lse ? at::cat(lse) : at::Tensor()};
}

}  // namespace

double attention_scale(const AttentionParams& params, std::int64_t head_dim) {
    return params.scale > 0.0 ? params.scale : 1.0 / std::sqrt(static_cast<double>(head_dim));
}

namespace {

// Dimensions from the largest stride to the smallest, and where each of them then is.
struct StrideOrder {
    std::vector<std::int64_t> order, back;

    explicit StrideOrder(const at::Tensor& like) : order(like.dim()), back(like.dim()) {
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::int64_t a, std::int64_t b) { return like.stride(a) > like.stride(b); });
        for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<std::int64_t>(i);
    }
};

}  // namespace

at::Tensor in_stride_order_of(const at::Tensor& like, const at::Tensor& tensor) {
    const StrideOrder of(like);
    return tensor.permute(of.order).contiguous().permute(of.back);
}

at::Tensor empty_in_order_of(const at::Tensor& like, at::IntArrayRef sizes) {
    const StrideOrder of(like);
    std::vector<std::int64_t> permuted;
    for (const auto dimension : of.order) permuted.push_back(sizes[dimension]);
    return at::empty(permuted, like.options()).permute(of.back);
}

AttentionOutputs attention(const AttentionInputs& inputs, const AttentionParams& params) {
    check_attention(inputs, params);
    AttentionOutputs outputs = params.layout == Layout::packed ? attend_packed(inputs, params)
                               : params.pages != nullptr       ? attend_pages(inputs, params)
                                                               : attend_padded(inputs, params);
    outputs.out = in_stride_order_of(inputs.q, outputs.out);
    if (outputs.lse.defined()) outputs.lse = outputs.lse.contiguous();
    return outputs;
}

}  // namespace switchyard::reference
