#include "block_pass.h"

#include <algorithm>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/maximum.h>

#include <switchyard/reference/numeric.h>

namespace switchyard::chunked {
namespace {

// The softmax of rows of which only some columns have been seen yet.
struct Running {
    at::Tensor top_BHn1;    // largest score
    at::Tensor total_BHn1;  // sum of exp(s - top)
    at::Tensor sum_BKgE;    // sum of exp(s - top) * v, [B * K, G * n, E]
};

// -inf of a row that has seen nothing would make exp(-inf - -inf) of it.
at::Tensor finite(const at::Tensor& top) { return top.masked_fill(top.eq(-infinity), 0.0); }

void take_in(const Block& block, const AttentionParams& params, const at::Tensor& q_BKgD,
             const Rectangle& rectangle, Running& running) {
    at::Tensor p = scores(block, params, q_BKgD, rectangle, false).s_BHnm;
    at::Tensor top = p.amax(-1, true);
    if (running.top_BHn1.defined()) top = at::maximum(top, running.top_BHn1);
    const at::Tensor base = finite(top);
    p.sub_(base).exp_();
    at::Tensor total = p.sum(-1, true);
    if (params.dropout.active()) p.mul_(kept(block, params, rectangle));  // keep_scale comes at the end
    const at::Tensor v_BKmE = columns_of(block.v_BKME, rectangle.keys);
    at::Tensor sum = reference::wide(
        at::bmm(p.to(v_BKmE.scalar_type()).view({q_BKgD.size(0), q_BKgD.size(1), p.size(3)}), v_BKmE));
    if (running.top_BHn1.defined()) {
        const at::Tensor shrink = (running.top_BHn1 - base).exp_();
        total.addcmul_(running.total_BHn1, shrink);
        sum.addcmul_(running.sum_BKgE, shrink.view({sum.size(0), sum.size(1), 1}));
    }
    running = {std::move(top), std::move(total), std::move(sum)};
}

}  // namespace

void forward(const Block& block, const AttentionParams& params, const ChunkSizes& sizes,
             const at::Tensor& out_BHNE, const at::Tensor& softmax_BHN2) {
    const std::int64_t kv_heads = block.k_BKMD.size(1);
    for_each_chunk(block, params.mask, sizes.queries, [&](Span queries, Span keys) {
        const at::Tensor out = out_BHNE.narrow(2, queries.begin, queries.size());
        const at::Tensor softmax = softmax_BHN2.narrow(2, queries.begin, queries.size());
        if (keys.size() == 0) {
            out.zero_();
            softmax.zero_();
            return;
        }
        const at::Tensor q = rows_of(block.q_BHND, queries, kv_heads);
        Running running;
        for_each_key_chunk(keys, sizes.keys, [&](Span some) {
            take_in(block, params, q, {queries, some}, running);
        });
        const at::Tensor& total = running.total_BHn1;
        const double keep_scale = params.dropout.active() ? params.dropout.keep_scale() : 1.0;
        const at::Tensor weight = total.masked_fill(total.eq(0.0), 1.0).reciprocal_().mul_(keep_scale);
        out.copy_(running.sum_BKgE.view(out.sizes()).mul_(weight));
        softmax.narrow(-1, 0, 1).copy_(finite(running.top_BHn1));
        softmax.narrow(-1, 1, 1).copy_(total);
    });
}

}  // namespace switchyard::chunked
