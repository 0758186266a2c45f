// A linear layer computed in another dtype than its parameters are stored in: parameters are cast once a step, not once a call.
#pragma once

#include <switchyard/interfaces/precision.h>
#include <switchyard/sdk/parameter_casts.h>

namespace switchyard {

class CastLinear {
public:
    // y in `dtype`; x and parameters in whatever they are in.
    at::Tensor forward(const LinearInputs& inputs, at::ScalarType dtype, Saved* saved);
    LinearGrads backward(const Saved& saved, const at::Tensor& grad_y, const LinearNeeds& needs);

    // Forgets all casts: parameters may change now in ways that no version counter shows.
    void forget() { casts_.forget(); }

private:
    ParameterCasts casts_;
};

}  // namespace switchyard
