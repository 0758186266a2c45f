// Attention problems whose scores are large and yet exact: sums of small integers times powers of two, so
// that float32 and float64 have the same scores, and what float64 makes of them is what every kernel has to
// find.
//
// To add a case: a line in large_scores.cpp.
#pragma once

#include <string>
#include <vector>

#include <switchyard/interfaces/attention.h>

namespace switchyard::test {

struct LargeScores {
    std::string name;
    AttentionInputs inputs;
    AttentionParams params;
    at::Tensor grad_out;
};

// One sequence of `queries`, of the type of a component's products.
std::vector<LargeScores> large_scores(at::ScalarType type, std::int64_t queries, std::int64_t keys);

// What backward and forward gave, or should have.
struct AttentionResults {
    AttentionOutputs outputs;
    AttentionGrads grads;
};
// By core/reference in float64, and by what autograd makes of it.
AttentionResults in_float64(const LargeScores& problem);
// Forward with a Saved, then backward.
template <class Component>
AttentionResults run(Component& component, const LargeScores& problem) {
    Saved saved;
    AttentionResults results;
    results.outputs = component.forward(problem.inputs, problem.params, &saved);
    results.grads = component.backward(problem.params, saved, problem.grad_out,
                                       {true, true, true, false, problem.inputs.dense_bias.defined()});
    return results;
}

// "" or what is further from `expected` than rounding to `type` explains, one a line.
std::string differences(const LargeScores& problem, const AttentionResults& found,
                        const AttentionResults& expected);
// The same for forward alone.
std::string output_differences(const LargeScores& problem, const AttentionOutputs& found,
                               const AttentionOutputs& expected);

}  // namespace switchyard::test
