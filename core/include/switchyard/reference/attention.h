// Attention as <switchyard/interfaces/attention.h> and mask.h state it, in plain ATen calls that autograd
// follows: every mask, both layouts, grouped heads, paged caches. The score matrix is in memory: this is what
// faster ones are measured against.
//
// Scores are summed up in float32 at least, never rounded to less; so are softmax and biases. The product of
// probabilities and v is in the dtype of q. Keys and values past key_lengths, or outside a sequence's pages,
// are not read: they may be anything, NaN too.
#pragma once

#include <switchyard/interfaces/attention.h>

namespace switchyard::reference {

// Throws std::invalid_argument naming the values when shapes, cu_seqlens or mask data do not fit
// (attention_check.h). lse is float64 for float64 inputs, and has no gradient.
AttentionOutputs attention(const AttentionInputs& inputs, const AttentionParams& params);

// The factor on q k^T: params.scale, or 1 / sqrt(head_dim).
double attention_scale(const AttentionParams& params, std::int64_t head_dim);

// `tensor` with its values, dense, in the order of strides of `like` (of as many dimensions).
at::Tensor in_stride_order_of(const at::Tensor& like, const at::Tensor& tensor);

// Uninitialised, of these sizes, with the dtype and in the order of strides of `like`.
at::Tensor empty_in_order_of(const at::Tensor& like, at::IntArrayRef sizes);

}  // namespace switchyard::reference
