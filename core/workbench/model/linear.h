// One linear layer: its parameters, and the operation that multiplies with them.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/kernel/runtime/operations/linear_op.h"
#include "core/workbench/model/slot.h"

namespace switchyard::model {

struct Linear {
    at::Tensor weight;  // [out, in]
    at::Tensor bias;    // [out] or undefined
    runtime::LinearContext context;
    Slot<runtime::LinearOp> operation;

    at::Tensor operator()(Phase phase, const at::Tensor& x) const {
        return operation[phase]({x, weight, bias}, context);
    }
    // Leaves the bias to whoever comes next.
    at::Tensor without_bias(Phase phase, const at::Tensor& x) const {
        return operation[phase]({x, weight, {}}, context);
    }
};

}  // namespace switchyard::model
