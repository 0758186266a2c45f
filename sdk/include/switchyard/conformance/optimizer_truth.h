// What is right in one case of an optimizer, step by step, by the reference on the CPU.
#pragma once

#include <cstdint>
#include <vector>

#include <switchyard/conformance/optimizer_problem.h>
#include <switchyard/conformance/tolerance.h>
#include <switchyard/reference/optimizer.h>

namespace switchyard::conformance {

// The reference on a copy of the problem of its own.
struct ReferenceRun {
    // Everything in `widened`, or as the spec says.
    ReferenceRun(const OptimizerSpec& spec, std::uint64_t seed, std::optional<at::ScalarType> widened);
    // Returns the norm of the unscaled gradients, which are off by `nudge` of themselves, up or down by
    // chance.
    double step(std::int64_t t, double nudge = 0.0);
    at::Tensor targets() { return all_targets(problem.groups).to(at::kDouble); }
    // As if there had been so many.
    void set_counted(std::int64_t steps);

    OptimizerProblem problem;
    reference::OptimizerSteps steps;
};

class OptimizerTruth {
public:
    OptimizerTruth(const OptimizerSpec& spec, std::uint64_t seed);

    // Takes step t (0, 1, ... in order); what is asked afterwards is meant after it.
    void step(std::int64_t t);

    double norm() const { return norm_; }               // of the unscaled gradients
    at::Tensor targets() { return oracle_.targets(); }  // float64 all_targets
    // bool, of all_targets: rounding decides there (lion, adam), so it is not judged; undefined: nowhere.
    const at::Tensor& unstable() const { return unstable_; }
    Spread error();  // of the reference in the case's dtypes

private:
    void step_nudged(std::int64_t t);
    void find_signs_of_nothing(const OptimizerState& before);

    Spread error_of(ReferenceRun& reference, ReferenceRun& oracle) const;

    const OptimizerSpec spec_;
    ReferenceRun oracle_, reference_;
    std::vector<ReferenceRun> nudged_;
    std::vector<ReferenceRun> other_oracles_, other_references_;  // on other gradients, pair by pair
    at::Tensor unstable_;
    double norm_ = 0.0;
};

}  // namespace switchyard::conformance
