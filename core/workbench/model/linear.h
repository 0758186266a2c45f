// One linear layer, called through the precision policy.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/precision.h>
#include "core/kernel/runtime/operations/precision_op.h"

namespace switchyard::model {

struct Linear {
    at::Tensor weight;  // [out, in]
    at::Tensor bias;    // [out] or undefined
    std::shared_ptr<const LinearSite> site;
    std::shared_ptr<const PrecisionOp> precision;

    at::Tensor operator()(const at::Tensor& x) const { return precision->linear({x, weight, bias}, site); }
    // Leaves the bias to whoever comes next.
    at::Tensor without_bias(const at::Tensor& x) const { return precision->linear({x, weight, {}}, site); }
};

}  // namespace switchyard::model
