// Forward and backward over a whole call.
#pragma once

#include "call.h"

namespace switchyard::flash {

// `out` has q's dtype and v's width, rows with a dense last dimension; lse is float32 [.., N] by sequence, head and row.
void forward(const Call& call, const Rows& out, const Rows& lse);

// The same for few queries, where copying keys would cost more than using them once.
constexpr std::int64_t most_decoding_rows = 8;  // queries of a kv head, over all its heads
bool is_decoding(const Call& call);
void decode(const Call& call, const Rows& out, const Rows& lse);

struct BackwardRows {
    Rows out, grad_out;  // dtype of q
    Rows lse;            // float32
    Rows dq, dk, dv;     // dtype of q, zeros; data nullptr: not needed
    // Of the dense bias, zeros; strides 0 where it is broadcast. nullptr: not needed.
    float* dense = nullptr;
    std::int64_t dense_stride[4] = {0, 0, 0, 0};
};

// Returns the gradient of the table of relative biases, [buckets, heads], empty unless `want_table`.
std::vector<double> backward(const Call& call, const BackwardRows& rows, bool want_table);

}  // namespace switchyard::flash
