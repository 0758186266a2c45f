// Known faults that `supports` keeps away from:
//   - a mask tensor with seq % 128 == 64 gives NaN in the gradient of q (pytorch/pytorch issue 196678), a
//     float32 mask is read as the dtype of q (pull request 191612): no mask tensor is ever
//     passed, which leaves none and causal;
//   - causal aligns the first query with the first key, the contract the last with the last: as many queries
//     as keys, and no query_offsets;
//   - backward of a single query fails (issue 138529); dropout with keys that are no multiple of 64 is
//     refused by LibTorch's own check (sdp_utils.cpp).
#include "cudnn.h"

#include <tuple>

#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>

#include <switchyard/reference/attention.h>
#include <switchyard/reference/attention_check.h>
#include <switchyard/sdk/cuda/aligned_rows.h>
#include <switchyard/sdk/serves.h>

#include "requests.h"

namespace switchyard {
namespace {

bool is_causal(const AttentionParams& params) { return params.mask.kinds.has(MaskKind::causal); }

}  // namespace

Verdict CudnnAttention::supports(const AttentionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    aten::require_common(verdict, request, host, 128);
    REQUIRE(verdict, request.layout == Layout::padded, Code::Layout, "layout", "padded",
            name(request.layout));
    REQUIRE(verdict, request.masks.within({MaskKind::causal}), Code::Mask, "masks",
            "none or causal (a mask tensor gives wrong gradients at some lengths)", request.masks);
    const bool causal = request.masks.has(MaskKind::causal);
    REQUIRE(verdict, !causal || (request.q_length.single() && request.q_length == request.kv_length),
            Code::Sequence, "q_length", "one length, that of the keys, if causal", request.q_length);
    REQUIRE(verdict, !causal || !request.query_offsets, Code::Sequence, "query_offsets",
            "false if causal (the first query stands at the first key)", "true",
            "take torch or flash, which know where queries stand");
    REQUIRE(verdict, request.batch.min >= 1 && request.q_length.min >= 2 && request.kv_length.min >= 2,
            Code::Sequence, "q_length", "at least 2 queries and keys of at least one sequence",
            request.q_length);
    REQUIRE(verdict, request.heads.single() && request.heads == request.kv_heads, Code::Heads, "kv_heads",
            "as many as heads", request.kv_heads);
    REQUIRE(verdict, request.dropout == 0.0 || request.kv_length.all_multiples_of(64), Code::Dropout,
            "dropout", "0 unless the number of keys is a multiple of 64", request.dropout);
    return verdict;
}

AttentionOutputs CudnnAttention::forward(const AttentionInputs& inputs, const AttentionParams& params,
                                         Saved* saved) {
    reference::check_attention(inputs, params);
    executed();
    const auto [out, lse, cu_q, cu_k, longest_q, longest_k, seed, offset, debug] =
        at::_scaled_dot_product_cudnn_attention(
            with_aligned_rows(inputs.q), with_aligned_rows(inputs.k), with_aligned_rows(inputs.v), {},
            saved != nullptr || params.want_lse, params.dropout.p, is_causal(params), false,
            reference::attention_scale(params, inputs.q.size(-1)));
    if (saved != nullptr) {
        for (const auto* input : {&inputs.q, &inputs.k, &inputs.v}) saved->input(*input);
        saved->output(out);
        for (const auto& extra : {lse, cu_q, cu_k, seed, offset}) saved->extra(extra);
        saved->integers = {longest_q.expect_int(), longest_k.expect_int()};
    }
    if (!params.want_lse) return {out, {}};
    return {out, aten::contract_lse(lse.dim() == 4 ? lse.squeeze(-1) : lse).contiguous()};
}

AttentionGrads CudnnAttention::backward(const AttentionParams& params, const Saved& saved,
                                        const at::Tensor& grad_out, const AttentionNeeds& needs) {
    AttentionGrads grads;
    std::tie(grads.q, grads.k, grads.v) = at::_scaled_dot_product_cudnn_attention_backward(
        with_aligned_rows(grad_out), with_aligned_rows(saved[0]), with_aligned_rows(saved[1]),
        with_aligned_rows(saved[2]), saved[3], saved[4], saved[7], saved[8], {}, saved[5], saved[6],
        saved.integers.at(0), saved.integers.at(1), params.dropout.p, is_causal(params),
        reference::attention_scale(params, saved[0].size(-1)));
    if (!needs.q) grads.q = at::Tensor();
    if (!needs.k) grads.k = at::Tensor();
    if (!needs.v) grads.v = at::Tensor();
    return grads;
}

}  // namespace switchyard
