#include "block_pass.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/zeros.h>

#include <switchyard/reference/attention.h>
#include <switchyard/reference/numeric.h>

namespace switchyard::chunked {
namespace {

// total_BKMD[:, :, keys] += left^T * right, both [B * K, G * n, ...].
void add_product(const at::Tensor& total_BKMD, Span keys, const at::Tensor& left, const at::Tensor& right) {
    const at::Tensor part = columns_of(total_BKMD, keys);
    if (part.scalar_type() == right.scalar_type()) {
        part.baddbmm_(left.transpose(1, 2), right);
    } else {
        part.add_(at::bmm(left.transpose(1, 2), right));
    }
}

void add_relative(const at::Tensor& total_bH, const at::Tensor& bucket_Bnm, const at::Tensor& ds_BHnm) {
    const bool alike = bucket_Bnm.size(0) == 1;
    const at::Tensor ds_BHx = (alike ? ds_BHnm.sum(0, true) : ds_BHnm).flatten(2);
    const at::Tensor rows_xH = ds_BHx.transpose(1, 2).flatten(0, 1);
    const at::Tensor sum_bH = at::zeros(total_bH.sizes(), ds_BHnm.options());
    sum_bH.index_add_(0, bucket_Bnm.reshape({-1}), rows_xH);
    total_bH.add_(sum_bH);
}

void add_dense(const at::Tensor& total, const Rectangle& rectangle, const at::Tensor& ds_BHnm) {
    at::Tensor part = total;
    if (total.size(2) != 1) part = part.narrow(2, rectangle.queries.begin, rectangle.queries.size());
    if (total.size(3) != 1) part = part.narrow(3, rectangle.keys.begin, rectangle.keys.size());
    part.add_(ds_BHnm.sum_to_size(part.sizes()));
}

// One chunk of queries, with what is the same for all its keys.
struct Rows {
    Span queries;
    at::Tensor q_BKgD, grad_BKgE;
    at::Tensor top_BHn1, weight_BHn1;  // probabilities are exp(score - top) * weight
    // Sum of grad_out * out, that is, of dP * P, over a row; undefined: to be taken from dP and P.
    at::Tensor delta_BHn1;
};

class Backward {
public:
    Backward(const Block& block, const AttentionParams& params, const BlockGrads& grads)
        : block_(block), params_(params), grads_(grads) {}

    void add(const Rows& rows, Span keys, at::Tensor& dq_BKgD) const {
        const Rectangle rectangle{rows.queries, keys};
        const Scores scored = scores(block_, params_, rows.q_BKgD, rectangle, true);
        at::Tensor p = scored.s_BHnm;
        p.sub_(rows.top_BHn1).exp_().mul_(rows.weight_BHn1);
        const at::Tensor keep = params_.dropout.active() ? kept(block_, params_, rectangle) : at::Tensor();
        if (grads_.v_BKME.defined()) {
            const at::Tensor dropped = keep.defined() ? p.mul(keep).mul_(params_.dropout.keep_scale()) : p;
            add_product(grads_.v_BKME, keys, low(dropped), rows.grad_BKgE);
        }
        if (needs_scores()) add_scores(rows, rectangle, scored, keep, dq_BKgD);
    }

private:
    bool needs_scores() const {
        return grads_.q_BHND.defined() || grads_.k_BKMD.defined() || grads_.relative_bias.defined() ||
               grads_.dense_bias.defined();
    }

    // [B, H, n, m] in the dtype of products, as [B * K, G * n, m].
    at::Tensor low(const at::Tensor& x_BHnm) const {
        const std::int64_t kv_heads = block_.k_BKMD.size(1);
        return x_BHnm.to(block_.q_BHND.scalar_type())
            .view({x_BHnm.size(0) * kv_heads, x_BHnm.size(1) / kv_heads * x_BHnm.size(2), x_BHnm.size(3)});
    }

    void add_scores(const Rows& rows, const Rectangle& rectangle, const Scores& scored,
                    const at::Tensor& keep, at::Tensor& dq_BKgD) const {
        const at::Tensor v_BKmE = columns_of(block_.v_BKME, rectangle.keys);
        at::Tensor ds =
            reference::wide(at::bmm(rows.grad_BKgE, v_BKmE.transpose(1, 2))).view(scored.s_BHnm.sizes());
        if (keep.defined()) ds.mul_(keep).mul_(params_.dropout.keep_scale());
        const at::Tensor delta_BHn1 =
            rows.delta_BHn1.defined() ? rows.delta_BHn1 : ds.mul(scored.s_BHnm).sum(-1, true);
        ds.sub_(delta_BHn1).mul_(scored.s_BHnm);
        if (grads_.relative_bias.defined()) add_relative(grads_.relative_bias, scored.bucket_Bnm, ds);
        if (grads_.dense_bias.defined()) add_dense(grads_.dense_bias, rectangle, ds);
        if (scored.slope_BHnm.defined()) ds.mul_(scored.slope_BHnm);
        ds.mul_(reference::attention_scale(params_, block_.q_BHND.size(3)));
        const at::Tensor ds_low = low(ds);
        if (grads_.k_BKMD.defined()) add_product(grads_.k_BKMD, rectangle.keys, ds_low, rows.q_BKgD);
        if (!grads_.q_BHND.defined()) return;
        const at::Tensor part = reference::wide(at::bmm(ds_low, columns_of(block_.k_BKMD, rectangle.keys)));
        dq_BKgD = dq_BKgD.defined() ? dq_BKgD.add_(part) : part;
    }

    const Block& block_;
    const AttentionParams& params_;
    const BlockGrads& grads_;
};

// `whole`: all keys of a row come at once.
Rows rows_at(const Block& block, const BackwardInputs& inputs, Span queries, bool whole) {
    const std::int64_t kv_heads = block.k_BKMD.size(1);
    const auto part = [&](const at::Tensor& x) { return x.narrow(2, queries.begin, queries.size()); };
    Rows rows;
    rows.queries = queries;
    rows.q_BKgD = rows_of(block.q_BHND, queries, kv_heads);
    rows.grad_BKgE = rows_of(inputs.grad_out_BHNE, queries, kv_heads);
    const at::Tensor softmax = part(inputs.softmax_BHN2), total = softmax.narrow(-1, 1, 1);
    rows.top_BHn1 = softmax.narrow(-1, 0, 1);
    rows.weight_BHn1 = total.reciprocal().masked_fill_(total.eq(0.0), 0.0);
    // In 16 bits both dP and out are rounded, each by itself, and what should cancel in dP - delta does not.
    const bool low = inputs.out_BHNE.element_size() < 4;
    if (whole && low) return rows;
    rows.delta_BHn1 =
        reference::wide(part(inputs.grad_out_BHNE)).mul(reference::wide(part(inputs.out_BHNE))).sum(-1, true);
    return rows;
}

}  // namespace

void backward(const Block& block, const AttentionParams& params, const ChunkSizes& sizes,
              const BackwardInputs& inputs, const BlockGrads& grads) {
    const Backward pass(block, params, grads);
    for_each_chunk(block, params.mask, sizes.queries, [&](Span queries, Span keys) {
        at::Tensor dq_BKgD;
        if (keys.size() > 0) {
            const bool whole = sizes.keys == 0 || keys.size() <= sizes.keys;
            const Rows rows = rows_at(block, inputs, queries, whole);
            for_each_key_chunk(keys, sizes.keys, [&](Span some) { pass.add(rows, some, dq_BKgD); });
        }
        if (!grads.q_BHND.defined()) return;
        const at::Tensor dq = grads.q_BHND.narrow(2, queries.begin, queries.size());
        if (dq_BKgD.defined()) {
            dq.copy_(dq_BKgD.view(dq.sizes()));
        } else {
            dq.zero_();
        }
    });
}

}  // namespace switchyard::chunked
