// Forward and backward of one block.
#pragma once

#include "block.h"

namespace switchyard::chunked {

struct ChunkSizes {
    std::int64_t queries = 256;
    std::int64_t keys = 0;  // 0: all that are visible
};

// Writes out_BHNE, and softmax_BHN2 (float32 at least; <switchyard/sdk/saved_attention.h>).
void forward(const Block& block, const AttentionParams& params, const ChunkSizes& sizes,
             const at::Tensor& out_BHNE, const at::Tensor& softmax_BHN2);

// What forward left, and what comes from above.
struct BackwardInputs {
    at::Tensor out_BHNE, softmax_BHN2, grad_out_BHNE;
};

// Written (q) or added to (the rest); undefined where not needed. All but q are float32 at least.
struct BlockGrads {
    at::Tensor q_BHND;
    at::Tensor k_BKMD, v_BKME;
    at::Tensor relative_bias;  // float64: chunk by chunk, thousands of sums are added up
    at::Tensor dense_bias;     // four dimensions
};

void backward(const Block& block, const AttentionParams& params, const ChunkSizes& sizes,
              const BackwardInputs& inputs, const BlockGrads& grads);

}  // namespace switchyard::chunked
