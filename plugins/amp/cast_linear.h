// A linear layer computed in another dtype than its parameters are stored in: parameters are cast once a step, not once a call.
#pragma once

#include <unordered_map>

#include <switchyard/interfaces/precision.h>

namespace switchyard {

class CastLinear {
public:
    // y in `dtype`; x and parameters in whatever they are in.
    at::Tensor forward(const LinearInputs& inputs, at::ScalarType dtype, Saved* saved);
    LinearGrads backward(const Saved& saved, const at::Tensor& grad_y, const LinearNeeds& needs);

    // Forgets all casts: parameters may change now in ways that no version counter shows.
    void forget() { casts_.clear(); }

private:
    // Serves while the memory holds the same values, as its version counter tells, and as long as the step.
    struct Cast {
        at::Tensor source;  // keeps the memory from being somebody else's
        at::Tensor copy;
        std::int64_t version = 0;
    };
    at::Tensor cast(const at::Tensor& parameter, at::ScalarType dtype);

    std::unordered_map<const void*, Cast> casts_;
};

}  // namespace switchyard
