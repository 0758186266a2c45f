// How the rows of a tensor of hidden states map to sequences. Models, norms and activations pass it along;
// only attention, dropout and the loader look inside.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/types.h>

namespace switchyard {

struct Tokens {
    Layout layout = Layout::padded;

    // padded: hidden states are [batch, seq, width]. `lengths` int32 [batch], on the data's device, gives the
    // real tokens of each row; undefined when every row is full.
    at::Tensor lengths;

    // packed: hidden states are [total, width]. `cu_seqlens` int32 [sequences + 1] on the data's device,
    // starting at 0, never decreasing, ending at total (flash-attention's convention); `max_seqlen` >= the
    // longest; `positions` int64 [total] counts from 0 within each sequence.
    at::Tensor cu_seqlens;
    at::Tensor positions;
    std::int64_t max_seqlen = 0;

    // Number of the first sequence of this micro-batch in the whole batch, so that dropout does not depend on
    // how a batch is cut.
    std::int64_t first_document = 0;
};

}  // namespace switchyard
