#include "core/workbench/model/sequences.h"

#include <ATen/ops/arange.h>

#include "core/workbench/model/cache/decoding_cache.h"

namespace switchyard::model {

AttentionMask batch_mask(const Tokens& queries, const Tokens& keys) {
    AttentionMask mask;
    mask.first_document = queries.first_document;
    if (queries.layout == Layout::packed) {
        mask.kinds.insert(MaskKind::documents);
        mask.cu_seqlens_q = queries.cu_seqlens;
        mask.cu_seqlens_k = keys.cu_seqlens;
        mask.max_seqlen_q = queries.max_seqlen;
        mask.max_seqlen_k = keys.max_seqlen;
    } else if (keys.lengths.defined()) {
        mask.kinds.insert(MaskKind::key_lengths);
        mask.key_lengths = keys.lengths;
    }
    return mask;
}

at::Tensor token_positions(const ForwardContext& context, const Tokens& tokens, std::int64_t seq,
                           at::Device device) {
    if (context.cached != nullptr && context.cached->positions.defined()) return context.cached->positions;
    if (tokens.layout == Layout::packed) return tokens.positions;
    return at::arange(seq, at::TensorOptions().dtype(at::kLong).device(device));
}

at::Tensor last_tokens(const at::Tensor& hidden, const Tokens& tokens) {
    if (!tokens.lengths.defined()) return hidden.select(1, hidden.size(1) - 1);
    const auto last = tokens.lengths.to(at::kLong).sub(1);
    const auto first = at::arange(hidden.size(0), last.options()).mul(hidden.size(1));
    return hidden.flatten(0, 1).index_select(0, first.add(last));
}

at::Tensor first_tokens(const at::Tensor& hidden, const Tokens& tokens) {
    if (tokens.layout == Layout::padded) return hidden.select(1, 0);
    return hidden.index_select(0, tokens.cu_seqlens.narrow(0, 0, tokens.cu_seqlens.size(0) - 1));
}

}  // namespace switchyard::model
