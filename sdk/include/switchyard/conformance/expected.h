// What is right in a case of an operation, found by the reference in float64 and in the case's own dtype.
#pragma once

#include <vector>

#include <switchyard/conformance/operation.h>
#include <switchyard/conformance/tolerance.h>

namespace switchyard::conformance {

// What is right, and how far the reference in the case's dtype is from it.
struct Expected {
    Outcome oracle;  // float64; gradients of all inputs that can have one, if any is asked for
    std::vector<Spread> output_errors, gradient_errors;
    std::vector<at::ScalarType> output_types;
};

// Runs the reference on the operation's data, which lie on the CPU; `dtype` is the one that is computed in.
Expected expect(const Operation& operation, DType dtype);

// How many times the reference's error a candidate may err, of outputs (2) and of gradients (3): that, and in
// float64 one more.
double factor(double times, DType dtype);

}  // namespace switchyard::conformance
