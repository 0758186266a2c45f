// A linear layer that is left in bfloat16: LibTorch's products of casts that are made once a step.
#pragma once

#include <switchyard/interfaces/precision.h>
#include <switchyard/sdk/parameter_casts.h>

namespace switchyard::fp8 {

// [R, columns] of whatever leading sizes.
inline at::Tensor rows_of(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

class PlainLinear {
public:
    // saved: x and weight; dtypes of x and of the bias.
    at::Tensor forward(const LinearInputs& inputs, Saved* saved);
    LinearGrads backward(const Saved& saved, const at::Tensor& grad_y, const LinearNeeds& needs);
    void forget() { casts_.forget(); }

private:
    ParameterCasts casts_;
};

}  // namespace switchyard::fp8
