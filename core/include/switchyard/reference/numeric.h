// In which dtype the reference computes what.
//
// Run in float64 it is the oracle. Run in the dtype of a candidate it says how far plain ATen calls in that
// dtype are from the oracle, and the allowance of the candidate follows from that. So products of matrices
// and elementwise steps run in the dtype of their inputs and round like any ATen call, while softmax,
// log-sum-exp, the statistics of rows and the scores of attention, which an exponential follows, are taken in
// float32 at least, as the contracts say.
#pragma once

#include <ATen/core/Tensor.h>

namespace switchyard::reference {

// float64 for float64, else float32.
inline at::ScalarType wide_type(at::ScalarType type) {
    return type == at::ScalarType::Double ? at::ScalarType::Double : at::ScalarType::Float;
}

// The tensor in the dtype of statistics.
inline at::Tensor wide(const at::Tensor& tensor) { return tensor.to(wide_type(tensor.scalar_type())); }

}  // namespace switchyard::reference
