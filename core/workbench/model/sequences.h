// A batch's sequences as the layers of a model see them: which dtype and shape hidden states have, and
// attention's mask made once for all layers.
#pragma once

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/mask.h>
#include <switchyard/interfaces/tokens.h>
#include "core/workbench/model/forward_context.h"

namespace switchyard::model {

// Mask parts that follow from the batch alone: key lengths (padded) or documents (packed) of queries over
// keys.
AttentionMask batch_mask(const Tokens& queries, const Tokens& keys);

// The position of each token within its sequence, int64, shaped to index a table for hidden states of `seq`
// tokens a row (padded) or in all (packed):
// [seq], or Tokens::positions. Of tokens that come after cached ones [seq] or, where rows are of several
// lengths, [batch, seq].
at::Tensor token_positions(const ForwardContext& context, const Tokens& tokens, std::int64_t seq,
                           at::Device device);

// The last token's hidden state of each row of a padded batch, [rows, width].
at::Tensor last_tokens(const at::Tensor& hidden, const Tokens& tokens);

// The first token's hidden state of each sequence, [sequences, width].
at::Tensor first_tokens(const at::Tensor& hidden, const Tokens& tokens);

}  // namespace switchyard::model
