// One linear layer: its parameters, and the operation that multiplies with them.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "core/kernel/runtime/operations/linear_op.h"
#include "core/workbench/model/slot.h"

namespace switchyard::model {

struct LowRank;

struct Linear {
    at::Tensor weight;  // [out, in]
    at::Tensor bias;    // [out] or undefined
    runtime::LinearContext context;
    Slot<runtime::LinearOp> operation;
    std::shared_ptr<const LowRank> low_rank;  // what is added to it; nullptr: nothing
    bool owns_weight = false;                 // nothing but `operation` reads the weight's values

    at::Tensor operator()(Phase phase, const at::Tensor& x) const { return product(phase, x, bias); }
    // Leaves the bias to whoever comes next.
    at::Tensor without_bias(Phase phase, const at::Tensor& x) const { return product(phase, x, {}); }

private:
    at::Tensor product(Phase phase, const at::Tensor& x, const at::Tensor& added) const;
};

// scale (x a^T) b^T, an adapter of low rank (low_rank.h).
struct LowRank {
    Linear a;  // [rank, in]
    Linear b;  // [out, rank]
    double scale = 1.0;
};

}  // namespace switchyard::model
