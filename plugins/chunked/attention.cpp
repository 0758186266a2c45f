#include "attention.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <switchyard/reference/attention.h>
#include <switchyard/reference/attention_check.h>
#include <switchyard/reference/numeric.h>
#include <switchyard/sdk/libtorch_products.h>
#include <switchyard/sdk/saved_attention.h>
#include <switchyard/sdk/serves.h>

#include "block_pass.h"

namespace switchyard {
namespace {

using chunked::Block;
using chunked::Span;

// [T, H, ...] of one sequence as [1, H, N, ...].
at::Tensor part(const at::Tensor& packed, Span span) {
    if (!packed.defined()) return packed;
    return packed.narrow(0, span.begin, span.size()).transpose(0, 1).unsqueeze(0);
}

// Calls `body(block, queries, keys)` for the padded batch, or for each packed sequence that has queries.
template <class Body>
void for_each_block(const AttentionInputs& inputs, const AttentionParams& params, const Body& body) {
    if (params.layout == Layout::padded) {
        body(chunked::padded_block(inputs, params), Span{}, Span{});
        return;
    }
    const auto q = reference::sequence_offsets(params.mask.cu_seqlens_q, "cu_seqlens_q", inputs.q.size(0));
    const auto k = reference::sequence_offsets(params.mask.cu_seqlens_k, "cu_seqlens_k", inputs.k.size(0));
    for (std::size_t i = 0; i + 1 < q.size(); ++i) {
        const Span queries{q[i], q[i + 1]}, keys{k[i], k[i + 1]};
        if (queries.size() == 0) continue;
        body(chunked::packed_block(inputs, params, static_cast<std::int64_t>(i), queries, keys), queries,
             keys);
    }
}

at::Tensor wide_zeros(const at::Tensor& like) {
    return at::zeros(like.sizes(), like.options().dtype(reference::wide_type(like.scalar_type())));
}

at::Tensor as_four(const at::Tensor& x) {
    std::vector<std::int64_t> sizes(4 - x.dim(), 1);
    sizes.insert(sizes.end(), x.sizes().begin(), x.sizes().end());
    return x.view(sizes);
}

at::Tensor like_input(const at::Tensor& grad, const at::Tensor& input) {
    return grad.defined() ? grad.to(input.scalar_type()) : grad;
}

}  // namespace

Verdict ChunkedAttention::supports(const AttentionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    require_any_mask(verdict, request);
    require_deterministic_bias_sums(verdict, request);
    return verdict;
}

ChunkedAttention::ChunkedAttention(const CreateInfo& info)
    : Attention(info),
      slow_(slow_libtorch_products(info, "3 to 10 times as slowly as float32",
                                   "attention.backend = \"flash\"")),
      chunk_size_(info.options.integer("chunk_size")),
      key_chunk_size_(info.options.integer("key_chunk_size")) {}

AttentionOutputs ChunkedAttention::forward(const AttentionInputs& inputs, const AttentionParams& params,
                                           Saved* saved) {
    reference::check_attention(inputs, params);
    executed();
    const bool padded = params.layout == Layout::padded;
    auto sizes = inputs.q.sizes().vec();
    sizes.back() = 2;
    const at::Tensor softmax =
        at::empty(sizes, inputs.q.options().dtype(reference::wide_type(inputs.q.scalar_type())));
    sizes.back() = inputs.v.size(-1);
    const at::Tensor out = reference::empty_in_order_of(inputs.q, sizes);
    for_each_block(inputs, params, [&](const Block& block, Span queries, Span) {
        chunked::forward(block, params, {chunk_size_, key_chunk_size_}, padded ? out : part(out, queries),
                         padded ? softmax : part(softmax, queries));
    });
    return save_attention(saved, inputs, params, out, softmax);
}

AttentionGrads ChunkedAttention::backward(const AttentionParams& params, const Saved& saved,
                                          const at::Tensor& grad_out, const AttentionNeeds& needs) {
    const SavedAttention from = saved_attention(saved);
    const AttentionInputs& inputs = from.inputs;
    const bool padded = params.layout == Layout::padded;
    AttentionGrads grads;
    if (needs.q) grads.q = at::zeros_like(inputs.q);
    if (needs.k) grads.k = wide_zeros(inputs.k);
    if (needs.v) grads.v = wide_zeros(inputs.v);
    if (needs.relative_bias)
        grads.relative_bias =
            at::zeros(inputs.relative_bias.sizes(), inputs.relative_bias.options().dtype(at::kDouble));
    if (needs.dense_bias) grads.dense_bias = wide_zeros(inputs.dense_bias);
    for_each_block(inputs, params, [&](const Block& block, Span queries, Span keys) {
        chunked::BlockGrads parts;
        parts.q_BHND = padded ? grads.q : part(grads.q, queries);
        parts.k_BKMD = padded ? grads.k : part(grads.k, keys);
        parts.v_BKME = padded ? grads.v : part(grads.v, keys);
        parts.relative_bias = grads.relative_bias;
        if (needs.dense_bias) parts.dense_bias = as_four(grads.dense_bias);
        chunked::BackwardInputs from_above{from.out, from.softmax, grad_out};
        if (!padded)
            from_above = {part(from.out, queries), part(from.softmax, queries), part(grad_out, queries)};
        chunked::backward(block, params, {chunk_size_, key_chunk_size_}, from_above, parts);
    });
    grads.k = like_input(grads.k, inputs.k);
    grads.v = like_input(grads.v, inputs.v);
    grads.relative_bias = like_input(grads.relative_bias, inputs.relative_bias);
    grads.dense_bias = like_input(grads.dense_bias, inputs.dense_bias);
    return grads;
}

}  // namespace switchyard
