// Forward and backward over a whole call.
#pragma once

#include "call.h"

namespace switchyard::flash {

// `out` has q's dtype and v's width, rows with a dense last dimension. `softmax` has rows of two float32,
// from which backward makes the probabilities again (<switchyard/sdk/saved_attention.h>), the largest score
// in units of call.score_unit().
void forward(const Call& call, const Rows& out, const Rows& softmax);

// The same for few queries, where copying keys would cost more than using them once, and no backward:
// products are summed up in another order here, and of a large score the last place is worth several powers
// of e.
constexpr std::int64_t most_decoding_rows = 8;  // queries of a kv head, over all its heads
bool is_decoding(const Call& call);
void decode(const Call& call, const Rows& out, const Rows& softmax);

struct BackwardRows {
    Rows out, grad_out;  // dtype of q
    Rows softmax;        // as forward left it
    Rows dq, dk, dv;     // dtype of q, zeros; data nullptr: not needed
    // Of the dense bias, zeros; strides 0 where it is broadcast. nullptr: not needed.
    float* dense = nullptr;
    std::int64_t dense_stride[4] = {0, 0, 0, 0};
};

// Returns the gradient of the table of relative biases, [buckets, heads], empty unless `want_table`.
std::vector<double> backward(const Call& call, const BackwardRows& rows, bool want_table);

}  // namespace switchyard::flash
