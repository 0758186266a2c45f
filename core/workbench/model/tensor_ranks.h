// What ranks that have a part of each layer do together (Shoeybi et al. 2019, arXiv:1909.08053): they sum up
// what each part makes of a block, and in backward what each part has of the gradient of the block's input.
// All else is the same on all of them.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/kernel/config/distributed_config.h"

namespace switchyard::model {

class TensorRanks {
public:
    virtual ~TensorRanks() = default;
    // Over the ranks, in place. All call it in the same order, in forward and in backward.
    virtual void sum(at::Tensor& tensor) = 0;
    // The tensors of all ranks, side by side in their last dimension, in the order of parts.
    virtual at::Tensor joined(const at::Tensor& part) = 0;
    // Vectors of which each rank has a piece, `sizes` values each, end to end in the order of parts. The
    // first makes `all` of what ranks have as `own`; the second sums `all` up, uses it up, and makes `own`
    // the rank's piece of the sum.
    virtual void gather_pieces(const at::Tensor& own, const at::Tensor& all,
                               const std::vector<std::int64_t>& sizes) = 0;
    virtual void sum_pieces(const at::Tensor& all, const at::Tensor& own,
                            const std::vector<std::int64_t>& sizes) = 0;
};

// x, as the parts of a block take it in: its gradient is the sum of theirs. `ranks`: nullptr where blocks are
// whole; otherwise they outlive backward.
at::Tensor into_parts(const at::Tensor& x, TensorRanks* ranks);
// What the parts of a block make together.
at::Tensor out_of_parts(const at::Tensor& x, TensorRanks* ranks);
// Columns of which each part has made some, all of them: what comes behind is the same on all ranks.
at::Tensor columns_of_parts(const at::Tensor& x, const config::LayerPart& part, TensorRanks* ranks);

}  // namespace switchyard::model
