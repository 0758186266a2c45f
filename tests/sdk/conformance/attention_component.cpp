// A right attention with a backward written by hand - and, with a mutation, one that is wrong in one way.
//
// Everything is float32 (float64) from start to end and rounded once; backward recomputes the probabilities
// from the log-sum-exp.
// Legend:  B sequences of a block  H heads  K kv heads  N queries  M keys  D head_dim  E v_head_dim
#include <algorithm>
#include <limits>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>

#include <switchyard/conformance/values.h>
#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/require.h>
#include <switchyard/reference/attention.h>
#include <switchyard/reference/attention_mask.h>
#include <switchyard/reference/dropout_mask.h>
#include <switchyard/reference/numeric.h>

#include "component.h"

namespace switchyard::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Block {
    at::Tensor q, k, v;  // BHND, BKMD, BKME in the storage dtype
    at::Tensor relative, dense;
    reference::ScoreGeometry geometry;
    std::int64_t document = 0, q_begin = 0, k_begin = 0;
};

struct Scores {
    at::Tensor s;     // BHNM with everything in, -inf where not visible
    at::Tensor tanh;  // of the soft cap
};

std::vector<std::int64_t> dense_strides(const at::Tensor& tensor) {
    return {tensor.stride(0), tensor.size(2) * tensor.size(3), tensor.size(3), 1};
}
at::Tensor longs(const at::Tensor& tensor) { return tensor.to(at::kLong); }
at::Tensor count_up(std::int64_t n) { return at::arange(n, at::kLong); }

class AttentionSample final : public Attention {
public:
    explicit AttentionSample(const CreateInfo& info) : Attention(info), mutation_(info) {}

    static Verdict supports(const AttentionRequest& request, const HostInfo&, const Options& options) {
        Verdict verdict;
        REQUIRE(verdict, request.device == Device::cpu, Code::Device, "device", "cpu", name(request.device));
        if (options.string("mutation") == "refuses_head_dim") {
            REQUIRE(verdict, request.head_dim.all_multiples_of(8), Code::HeadDim, "head_dim",
                    "a multiple of 8", request.head_dim);
        }
        if (options.string("mutation") == "serves_little") {
            const bool little = request.dtype == DType::float32 && request.layout == Layout::padded &&
                                request.masks == MaskSet{MaskKind::causal} && request.head_dim == 64 &&
                                request.v_head_dim == 64 && request.dropout == 0.0 && !request.paged_cache;
            REQUIRE(verdict, little, Code::Internal, "request", "causal attention of 64 in float32",
                    "another");
        }
        if (options.string("mutation") == "takes_only_defaults") {
            REQUIRE(verdict, !request.query_offsets, Code::Sequence, "query_offsets", "false", "true");
            REQUIRE(verdict, !request.custom_scale, Code::Shape, "custom_scale", "false", "true");
            REQUIRE(verdict, !request.want_lse, Code::Fusion, "want_lse", "false", "true");
        }
        if (options.string("mutation") == "supports_throws") throw 42;
        return verdict;
    }

    AttentionOutputs forward(const AttentionInputs& inputs, const AttentionParams& params,
                             Saved* saved) override;
    AttentionGrads backward(const AttentionParams& params, const Saved& saved, const at::Tensor& grad_out,
                            const AttentionNeeds& needs) override;

private:
    bool is(const char* name) const { return mutation_.is(name); }
    at::Tensor all_heads(const at::Tensor& x, std::int64_t heads) const;
    at::Tensor sum_over_group(const at::Tensor& grad, std::int64_t kv_heads) const;
    reference::ScoreGeometry geometry(const AttentionMask& mask, std::int64_t sequence, std::int64_t queries,
                                      std::int64_t keys) const;
    std::vector<Block> blocks(const AttentionInputs& inputs, const AttentionParams& params) const;
    Scores scores(const Block& block, const AttentionParams& params) const;
    at::Tensor keep_mask(const Block& block, const AttentionParams& params, bool backward) const;
    bool has_odd_mask(const AttentionParams& params) const;
    void spoil_far(Block& block, AttentionMask& mask) const;
    void spoil_outputs(AttentionOutputs& outputs, const AttentionParams& params) const;
    AttentionOutputs attend(const Block& block, const AttentionParams& params) const;
    void differentiate(const Block& block, const AttentionParams& params, const at::Tensor& out,
                       const at::Tensor& lse, const at::Tensor& grad_out, const AttentionNeeds& needs,
                       AttentionGrads& grads) const;
    void spoil(AttentionInputs& inputs, const AttentionParams& params) const;

    Mutation mutation_;
    at::Tensor kept_lse_, first_table_;  // used by mutations only
    std::int64_t first_keys_ = 0;
    int calls_ = 0;
};

at::Tensor AttentionSample::all_heads(const at::Tensor& x, std::int64_t heads) const {
    const std::int64_t group = heads / x.size(1);
    at::Tensor head = count_up(heads).div(group, "floor");
    if (is("kv_head_modulo")) head = count_up(heads).remainder(x.size(1));
    return reference::wide(x).index_select(1, head);
}

at::Tensor AttentionSample::sum_over_group(const at::Tensor& grad, std::int64_t kv_heads) const {
    const at::Tensor grouped = grad.unflatten(1, {kv_heads, grad.size(1) / kv_heads});
    return is("group_gradient_not_summed") ? grouped.select(2, 0) : grouped.sum(2);
}

reference::ScoreGeometry AttentionSample::geometry(const AttentionMask& mask, std::int64_t sequence,
                                                   std::int64_t queries, std::int64_t keys) const {
    reference::ScoreGeometry g;
    std::int64_t offset = is("causal_from_start") ? 0 : keys - queries;
    if (is("causal_off_by_one")) ++offset;
    g.position_BN = (count_up(queries) + offset).unsqueeze(0);
    g.key_M = count_up(keys);
    if (mask.kinds.has(MaskKind::prefix)) g.prefix_length_B = longs(mask.prefix_lengths);
    if (sequence >= 0) {
        if (g.prefix_length_B.defined()) g.prefix_length_B = g.prefix_length_B.narrow(0, sequence, 1);
        const bool moved = mask.query_offsets.defined() && !mask.kinds.has(MaskKind::documents);
        if (moved && !is("ignores_offsets_in_pages"))
            g.position_BN = longs(mask.query_offsets).narrow(0, sequence, 1).unsqueeze(1) + count_up(queries);
        return g;
    }
    if (mask.query_offsets.defined() && !is("ignores_offsets")) {
        g.position_BN = longs(mask.query_offsets).unsqueeze(1) + count_up(queries);
    }
    if (mask.kinds.has(MaskKind::key_lengths) && !is("ignores_key_lengths"))
        g.key_length_B = longs(mask.key_lengths);
    return g;
}

std::vector<Block> AttentionSample::blocks(const AttentionInputs& in, const AttentionParams& params) const {
    const AttentionMask& mask = params.mask;
    std::vector<Block> result;
    const auto head_first = [](const at::Tensor& x) { return x.transpose(0, 1).unsqueeze(0); };
    if (params.layout == Layout::packed) {
        const at::Tensor q_at = longs(mask.cu_seqlens_q), k_at = longs(mask.cu_seqlens_k);
        const std::int64_t sequences = is("joins_documents") ? 1 : q_at.size(0) - 1;
        for (std::int64_t s = 0; s < sequences; ++s) {
            const std::int64_t q0 = q_at[s].item<std::int64_t>(), k0 = k_at[s].item<std::int64_t>();
            const std::int64_t n =
                (is("joins_documents") ? in.q.size(0) : q_at[s + 1].item<std::int64_t>()) - q0;
            const std::int64_t m =
                (is("joins_documents") ? in.k.size(0) : k_at[s + 1].item<std::int64_t>()) - k0;
            result.push_back({head_first(in.q.narrow(0, q0, n)),
                              head_first(in.k.narrow(0, k0, m)),
                              head_first(in.v.narrow(0, k0, m)),
                              in.relative_bias,
                              {},
                              geometry(mask, s, n, m),
                              mask.first_document + s,
                              q0,
                              k0});
        }
        return result;
    }
    if (params.pages == nullptr) {
        std::int64_t keys = in.k.size(2);
        if (is("drops_last_key") && keys % 128 == 1 && keys > 1) --keys;
        result.push_back({in.q, in.k.narrow(2, 0, keys), in.v.narrow(2, 0, keys), in.relative_bias,
                          in.dense_bias, geometry(mask, -1, in.q.size(2), keys), mask.first_document});
        if (is("drops_last_key"))
            result[0].geometry.position_BN = result[0].geometry.position_BN + (in.k.size(2) - keys);
        return result;
    }
    for (std::int64_t b = 0; b < in.q.size(0); ++b) {
        const auto length = params.pages->lengths[b].item<std::int64_t>();
        const std::int64_t page = params.pages->k_pages.size(1), used = (length + page - 1) / page;
        at::Tensor table = longs(params.pages->block_table[b].narrow(0, 0, used));
        if (is("ignores_block_table")) table = count_up(used);
        const auto gather = [&](at::Tensor pages) {
            if (is("ignores_page_strides")) pages = pages.as_strided(pages.sizes(), dense_strides(pages));
            const at::Tensor rows = pages.index_select(0, table).flatten(0, 1);
            return head_first(is("reads_page_tail") ? rows : rows.narrow(0, 0, length));
        };
        const at::Tensor k = gather(params.pages->k_pages);
        at::Tensor bias = in.dense_bias;  // as wide as the longest sequence
        if (bias.defined() && bias.dim() == 4 && bias.size(0) > 1) bias = bias.narrow(0, b, 1);
        if (bias.defined() && bias.size(-1) > length) bias = bias.narrow(-1, 0, length);
        result.push_back({in.q.narrow(0, b, 1), k, gather(params.pages->v_pages), in.relative_bias, bias,
                          geometry(mask, b, in.q.size(2), k.size(2)), mask.first_document + b});
    }
    return result;
}

// Wrong past some size.
void AttentionSample::spoil_far(Block& block, AttentionMask& mask) const {
    const auto zero_from = [](at::Tensor& x, std::int64_t dim, std::int64_t begin) {
        if (x.size(dim) <= begin) return;
        x = x.clone();
        x.narrow(dim, begin, x.size(dim) - begin).zero_();
    };
    if (is("keeps_first_length")) zero_from(block.k, 2, first_keys_);
    if (is("odd_past_1100_keys")) zero_from(block.k, 2, 1100);
    if (is("odd_past_300_queries")) zero_from(block.q, 2, 300);
    if (is("odd_past_8_heads")) zero_from(block.q, 1, 8);
    if (is("odd_past_head_dim_256")) zero_from(block.q, 3, 256);
    if (is("prefix_up_to_16") && mask.prefix_lengths.defined())
        block.geometry.prefix_length_B = block.geometry.prefix_length_B.clamp_max(16);
    if (is("window_up_to_20")) {
        mask.window_left = std::min<std::int64_t>(mask.window_left, 20);
        mask.window_right = std::min<std::int64_t>(mask.window_right, 20);
    }
    if (is("lowest_for_infinite_bias") && block.dense.defined()) block.dense = block.dense.clamp_min(-1e30);
}

// Of the state that backward starts from, or of what comes out.
void AttentionSample::spoil_outputs(AttentionOutputs& outputs, const AttentionParams& params) const {
    if (is("odd_lse_with_dropout") && params.dropout.active()) outputs.lse = outputs.lse + 1.0;
    if (is("nan_to_num")) outputs.out = outputs.out.nan_to_num();
    if (is("noise") && outputs.out.numel() > 4096)
        outputs.out = outputs.out *
                      (conformance::bell(outputs.out.sizes(), 5).to(outputs.out.scalar_type()) * 0.05 + 1.0);
    if (is("odd_after_10_calls") && calls_ > 10) outputs.out = outputs.out * 1.5;
}

Scores AttentionSample::scores(const Block& given, const AttentionParams& params) const {
    AttentionMask mask = params.mask;
    Block block = given;
    spoil_far(block, mask);
    if (is("ignores_causal")) mask.kinds.erase(MaskKind::causal);
    if (is("ignores_prefix")) mask.kinds.erase(MaskKind::prefix);
    if (is("ignores_alibi")) mask.kinds.erase(MaskKind::alibi);
    if (is("window_off_by_one") && mask.window_left >= 0) --mask.window_left;
    if (is("one_sided_buckets")) mask.relative_bidirectional = false;

    Scores result;
    const double scale = is("missing_scale") ? 1.0 : reference::attention_scale(params, block.q.size(-1));
    at::Tensor s =
        reference::wide(block.q).matmul(all_heads(block.k, block.q.size(1)).transpose(2, 3)) * scale;
    const bool capped = mask.kinds.has(MaskKind::soft_cap);
    if (is("cap_after_bias")) s = reference::add_position_biases(s, mask, block.relative, block.geometry);
    if (capped) {
        result.tanh = (s / mask.soft_cap).tanh();
        s = result.tanh * mask.soft_cap;
    }
    if (!is("cap_after_bias")) s = reference::add_position_biases(s, mask, block.relative, block.geometry);
    if (block.dense.defined()) s = s + block.dense;
    const at::Tensor seen = reference::visible(mask, block.geometry);
    result.s = seen.defined() ? s.masked_fill(seen.logical_not().unsqueeze(1), -infinity) : s;
    return result;
}

at::Tensor AttentionSample::keep_mask(const Block& block, const AttentionParams& params,
                                      bool backward) const {
    Dropout dropout = params.dropout;
    if (is("other_mask_in_backward") && backward) ++dropout.seed;
    const std::int64_t document =
        is("ignores_first_document") ? block.document - params.mask.first_document : block.document;
    const std::int64_t B = block.q.size(0), N = block.q.size(2), M = block.k.size(2);
    const reference::KeepSpan H{is("ignores_first_head") ? 0 : params.mask.first_head, block.q.size(1)};
    if (is("mask_transposed"))
        return reference::attention_keep_mask(dropout, document, B, H, M, N).transpose(2, 3);
    if (has_odd_mask(params)) ++dropout.seed;
    const at::Tensor keep = reference::attention_keep_mask(dropout, document, B, H, N, M);
    if (is("odd_dropout_from_258") && M > 257) {
        ++dropout.seed;
        const at::Tensor other = reference::attention_keep_mask(dropout, document, B, H, N, M);
        keep.narrow(3, 257, M - 257).copy_(other.narrow(3, 257, M - 257));
    }
    return keep;
}

// Dropout that is wrong together with one other thing.
bool AttentionSample::has_odd_mask(const AttentionParams& params) const {
    const MaskSet& masks = params.mask.kinds;
    return (is("odd_dropout_with_alibi") && masks.has(MaskKind::alibi)) ||
           (is("odd_dropout_with_window") && masks.has(MaskKind::sliding_window)) ||
           (is("odd_dropout_with_prefix") && masks.has(MaskKind::prefix)) ||
           (is("odd_dropout_with_offsets") && params.mask.query_offsets.defined()) ||
           (is("odd_packed_dropout_with_relative_bias") && masks.has(MaskKind::documents) &&
            masks.has(MaskKind::relative_bias));
}

AttentionOutputs AttentionSample::attend(const Block& block, const AttentionParams& params) const {
    const at::Tensor s = scores(block, params).s;
    AttentionOutputs outputs;
    outputs.lse = is("no_maximum") ? s.exp().sum(-1).log() : s.logsumexp(-1);
    at::Tensor p = s.softmax(-1);
    if (!is("no_key_is_nan")) p = p.masked_fill(outputs.lse.eq(-infinity).unsqueeze(-1), 0.0);
    if (is("no_maximum")) p = s.exp() / s.exp().sum(-1, true);
    if (params.dropout.active()) {
        p = p.masked_fill(keep_mask(block, params, false).logical_not(), 0.0);
        if (!is("dropout_unscaled")) p = p * params.dropout.keep_scale();
    }
    outputs.out = p.matmul(all_heads(block.v, block.q.size(1)));
    if (is("accumulates_in_storage_dtype")) {
        const at::Tensor v = all_heads(block.v, block.q.size(1));
        outputs.out = at::zeros_like(outputs.out).to(block.q.scalar_type());
        for (std::int64_t j = 0; j < v.size(2); ++j) {
            outputs.out = (outputs.out + p.narrow(3, j, 1) * v.narrow(2, j, 1)).to(block.q.scalar_type());
        }
    }
    if (is("swapped_heads") && outputs.out.size(1) > 1) outputs.out = outputs.out.flip(1);
    return outputs;
}

// Wrong in ways that are about memory, not numbers.
void AttentionSample::spoil(AttentionInputs& in, const AttentionParams& params) const {
    if (is("scales_input")) in.q.mul_(0.5);
    if (is("changes_lengths") && params.mask.key_lengths.defined())
        params.mask.key_lengths.add_(1).clamp_max_(3);
    if (is("assumes_dense") && in.q.numel() > 0)
        in.q = in.q.as_strided(in.q.sizes(), at::zeros_like(in.q).contiguous().strides());
    const bool more = params.mask.query_offsets.defined() || params.scale > 0.0 || params.want_lse;
    if (is("takes_only_defaults") && more) throw std::runtime_error("more than supports said yes to");
    if (is("throws_on_empty") && in.q.numel() == 0) throw std::runtime_error("no queries");
}

AttentionOutputs AttentionSample::forward(const AttentionInputs& given, const AttentionParams& params,
                                          Saved* saved) {
    AttentionInputs in = given;
    spoil(in, params);
    ++calls_;
    if (is("keeps_first_table"))
        in.relative_bias = first_table_ = first_table_.defined() ? first_table_ : in.relative_bias;
    if (is("keeps_first_length") && first_keys_ == 0 && in.k.defined()) first_keys_ = in.k.size(-2);
    const bool packed = params.layout == Layout::packed;
    std::vector<at::Tensor> out, lse;
    for (const Block& block : blocks(in, params)) {
        const AttentionOutputs one = attend(block, params);
        out.push_back(packed ? one.out.squeeze(0).transpose(0, 1) : one.out);
        lse.push_back(packed ? one.lse.squeeze(0).transpose(0, 1) : one.lse);
    }
    AttentionOutputs outputs{at::cat(out), at::cat(lse).contiguous()};
    spoil_outputs(outputs, params);
    if (is("reads_before") && in.q.numel() > 0 && in.q.storage_offset() > 0) {
        outputs.out = outputs.out + in.q.as_strided({1}, {1}, in.q.storage_offset() - 1) * 0.0;
    }
    if (is("nondeterministic")) outputs.out = outputs.out * (1.0 + 2.4e-7 * calls_);
    if (!is("returns_float32")) outputs.out = outputs.out.to(in.q.scalar_type());
    outputs.out = reference::in_stride_order_of(in.q, outputs.out);
    if (is("returns_input") && outputs.out.sizes() == in.q.sizes()) {
        in.q.copy_(outputs.out);
        outputs.out = in.q;
    }
    if (saved != nullptr) {
        for (const at::Tensor& tensor : {given.q, given.k, given.v, given.relative_bias, given.dense_bias})
            saved->input(tensor);
        saved->output(outputs.out);
        saved->extra(outputs.lse);
        if (is("marks_copy_as_input")) saved->tensors[0].tensor = given.q.clone();
    }
    kept_lse_ = outputs.lse;
    if (!is("not_counted")) executed(is("undeclared_variant") ? "other" : "plain");
    if (!params.want_lse) return {outputs.out, at::Tensor()};
    if (is("lse_of_base_2")) outputs.lse = outputs.lse / 0.6931471805599453;
    return outputs;
}

void AttentionSample::differentiate(const Block& block, const AttentionParams& params, const at::Tensor& out,
                                    const at::Tensor& lse, const at::Tensor& grad_out,
                                    const AttentionNeeds& needs, AttentionGrads& grads) const {
    const std::int64_t H = block.q.size(1), K = block.k.size(1);
    const Scores recomputed = scores(block, params);
    const at::Tensor shift = lse.masked_fill(lse.eq(-infinity), 0.0).unsqueeze(-1);
    const at::Tensor p = (recomputed.s - shift).exp();
    at::Tensor dropped = p, dp = grad_out.matmul(all_heads(block.v, H).transpose(2, 3));
    if (params.dropout.active()) {
        const at::Tensor gone = keep_mask(block, params, true).logical_not();
        dropped = p.masked_fill(gone, 0.0) * params.dropout.keep_scale();
        if (!is("dropout_missing_in_dp")) dp = dp.masked_fill(gone, 0.0) * params.dropout.keep_scale();
    }
    at::Tensor delta = (grad_out * out).sum(-1, true);
    if (is("missing_delta")) delta = at::zeros_like(delta);
    at::Tensor ds = p * (dp - delta);

    if (needs.v) grads.v = sum_over_group(dropped.transpose(2, 3).matmul(grad_out), K);
    if (is("missing_dv") && needs.v) grads.v = at::zeros_like(grads.v);
    if (needs.dense_bias) {
        grads.dense_bias =
            is("bias_gradient_not_summed") && block.dense.dim() == 4 && block.dense.size(0) == 1
                ? ds.narrow(0, 0, 1).sum_to_size(block.dense.sizes())
                : ds.sum_to_size(block.dense.sizes());
    }
    if (needs.relative_bias) {
        const at::Tensor bucket = reference::relative_buckets(
            block.geometry.key_M - block.geometry.position_BN.unsqueeze(-1), block.relative.size(0),
            params.mask.relative_bidirectional, params.mask.relative_max_distance);
        const at::Tensor index = bucket.expand({ds.size(0), ds.size(2), ds.size(3)}).reshape({-1});
        const at::Tensor rows = ds.permute({0, 2, 3, 1}).reshape({-1, H});
        const at::Tensor table = reference::wide(block.relative).new_zeros(block.relative.sizes());
        grads.relative_bias = is("bias_gradient_overwritten") ? table.index_copy(0, index, rows)
                                                              : table.index_add(0, index, rows);
    }
    if (recomputed.tanh.defined() && !is("missing_cap_derivative"))
        ds = ds * (1.0 - recomputed.tanh.square());
    ds = ds * reference::attention_scale(params, block.q.size(-1));
    if (needs.q) grads.q = ds.matmul(all_heads(block.k, H));
    if (needs.k) grads.k = sum_over_group(ds.transpose(2, 3).matmul(reference::wide(block.q)), K);
    if (is("gradients_swapped") && needs.q && needs.k && grads.q.sizes() == grads.k.sizes())
        std::swap(grads.q, grads.k);
}

AttentionGrads AttentionSample::backward(const AttentionParams& params, const Saved& saved,
                                         const at::Tensor& grad_out, const AttentionNeeds& needs) {
    const AttentionInputs in{saved[0], saved[1], saved[2], saved[3], saved[4]};
    const at::Tensor out = reference::wide(saved[5]), lse = is("stale_state") ? kept_lse_ : saved[6],
                     grad = reference::wide(grad_out);
    const bool packed = params.layout == Layout::packed;
    AttentionGrads total;
    const auto zeros = [](const at::Tensor& like) { return reference::wide(like).new_zeros(like.sizes()); };
    if (needs.q) total.q = zeros(in.q);
    if (needs.k) total.k = zeros(in.k);
    if (needs.v) total.v = zeros(in.v);
    if (needs.relative_bias) total.relative_bias = zeros(in.relative_bias);
    for (const Block& block : blocks(in, params)) {
        AttentionGrads one;
        const std::int64_t N = block.q.size(2), M = block.k.size(2);
        const auto part = [&](const at::Tensor& x) {  // [B, H, N, ...] of this block's queries
            return packed ? x.narrow(0, block.q_begin, N).transpose(0, 1).unsqueeze(0) : x;
        };
        differentiate(block, params, part(out), part(lse), part(grad), needs, one);
        const auto put = [&](const at::Tensor& whole, const at::Tensor& piece, std::int64_t begin,
                             std::int64_t count) {
            if (packed)
                whole.narrow(0, begin, count).copy_(piece.squeeze(0).transpose(0, 1));
            else
                whole.narrow(2, 0, count).copy_(piece);
        };
        if (needs.q) put(total.q, one.q, block.q_begin, N);
        if (needs.k) put(total.k, one.k, block.k_begin, M);
        if (needs.v) put(total.v, one.v, block.k_begin, M);
        if (needs.relative_bias) total.relative_bias += one.relative_bias;
        if (needs.dense_bias) total.dense_bias = one.dense_bias;
    }
    const auto rounded = [](const at::Tensor& gradient, const at::Tensor& like) {
        return gradient.defined() ? gradient.to(like.scalar_type()) : gradient;
    };
    return {rounded(total.q, in.q), rounded(total.k, in.k), rounded(total.v, in.v),
            rounded(total.relative_bias, in.relative_bias), rounded(total.dense_bias, in.dense_bias)};
}

}  // namespace

const LocalComponent attention_entry =
    local_component<Kind::attention, AttentionSample>(GradientMode::kernel, RandomSource::counter, {"plain"});

}  // namespace switchyard::test
