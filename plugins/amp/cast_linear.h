// A linear layer computed in another dtype than its parameters are stored in: parameters are cast once a
// step, not once a call.
#pragma once

#include <switchyard/interfaces/precision.h>
#include <switchyard/sdk/parameter_casts.h>

namespace switchyard {

class CastLinear {
public:
    // `fixed_order`: products.h.
    explicit CastLinear(bool fixed_order) : fixed_order_(fixed_order) {}

    // y in `dtype`; x and parameters in whatever they are in.
    at::Tensor forward(const LinearInputs& inputs, at::ScalarType dtype, Saved* saved);
    LinearGrads backward(const Saved& saved, const at::Tensor& grad_y, const LinearNeeds& needs);

    // By the products of the last call in tiles, in the words of computes_in_property; nullptr: LibTorch made
    // them.
    const char* computed_in() const { return computed_in_; }

    // Forgets all casts: parameters may change now in ways that no version counter shows.
    void forget() { casts_.forget(); }

private:
    bool fixed_order_;
    ParameterCasts casts_;
    const char* computed_in_ = nullptr;
};

}  // namespace switchyard
