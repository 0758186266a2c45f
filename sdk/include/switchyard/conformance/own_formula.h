// What is right of a formula that only its component knows: no reference has it, so that the component's own
// float64 stands in for one, in its plainest form and on the CPU, and finite differences of that for its
// gradient.
//
//     activation   y of single values in another order and shape, so that an output may depend on its own
//                  input alone; bias and dropout around it are the reference's
//     loss         losses of single rows of logits, those that count and in another order; the projection
//                  before it and the reductions after it are the reference's. Of more than 16 classes the
//                  slope is the component's own in float64, which has to agree with differences along four
//                  directions.
//
// So a component is held to one function of a value, or of a row, in all dtypes, layouts, sizes and forms,
// and its backward to that function's slope. That the function is the one of its paper is for its author to
// prove.
//
// Below float64 the stand-in errs as a component that computes well may: its inputs and its results are moved
// by four units of roundoff of float32, of 16 bits by two of their own, those of a loss by that share of the
// largest logit, too.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include <switchyard/conformance/operation.h>
#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/loss.h>

namespace switchyard::conformance {

// What the formula itself lacks, so that no case of it can be judged.
struct FormulaFault : std::runtime_error {
    FormulaFault(const char* code_of_fault, const std::string& detail)
        : std::runtime_error(detail), code(code_of_fault) {}
    const char* code;  // of the report: "not_in_float64", "wrong_gradient", "wrong_output"
};

// How far off a gradient by finite differences is, as a share of its size.
inline constexpr double slope_roundoff = 1e-8;

// `request` is the case's. Throw FormulaFault.
std::function<Tensors(const Tensors&)> own_activation(const ComponentUnderTest& component,
                                                      const ActivationRequest& request,
                                                      const ActivationParams& params);
std::function<Tensors(const Tensors&)> own_loss(const ComponentUnderTest& component,
                                                const LossRequest& request, const LossParams& params);

}  // namespace switchyard::conformance
