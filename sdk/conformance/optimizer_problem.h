// What an optimizer is given in one case, and what is right to make of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <switchyard/conformance/tolerance.h>
#include <switchyard/conformance/values.h>
#include <switchyard/interfaces/optimizer.h>

namespace switchyard::conformance {

struct OptimizerSpec {
    enum class Aim { steps, large_gradients, state, bad_state, bad_parameters };

    std::string family;
    Aim aim = Aim::steps;
    OptimizerKind algorithm = OptimizerKind::adamw;
    DType dtype = DType::float32, gradient_dtype = DType::float32;
    bool master = false;
    double eps = 1e-8, momentum = 0.0;
    bool nesterov = false;
    double max_grad_norm = 0.0;  // 0: no clipping
    double grad_scale = 1.0;
    bool unscale = false;
    bool as_tensors = false;  // scale and rate come as tensors
    double bad_value = 0.0;   // not 0: the gradient of bad_parameter has it in the third step
    std::string bad_parameter = "no_decay.one";
    Placement values = Placement::dense, gradients = Placement::dense;
    bool deterministic = false;
    int threads = 1;

    bool folded() const { return unscale || max_grad_norm > 0.0; }
};

constexpr std::int64_t optimizer_steps = 5;
constexpr std::int64_t bad_step = 2;

// One copy of everything; two copies from one spec and seed are equal and share no memory.
struct OptimizerProblem {
    std::vector<ParameterGroup> groups;
    std::vector<std::vector<at::Tensor>> gradients;  // [step][parameter over all groups], undefined: none
    StepParams params;
};

// How many parameters and values that has.
std::int64_t parameter_count(const OptimizerSpec& spec);
std::int64_t value_count(const OptimizerSpec& spec);

OptimizerProblem make_problem(const OptimizerSpec& spec, std::uint64_t seed, at::Device device);

// Gives the parameters the gradients of that step.
void set_gradients(OptimizerProblem& problem, std::int64_t step);

// All parameters, group after group.
std::vector<Parameter*> parameters_of(std::vector<ParameterGroup>& groups);

// What a step updates - the master weight where there is one - of all parameters end to end, on the CPU: [values].
at::Tensor all_targets(std::vector<ParameterGroup>& groups);
// Name and place in it of the number `flat` of all_targets.
std::string target_at(std::vector<ParameterGroup>& groups, std::int64_t flat);

struct OptimizerTruth {
    std::vector<at::Tensor> targets;   // float64 all_targets after each step
    std::vector<Spread> errors;        // of the reference in the case's dtypes, after each step
    std::vector<at::Tensor> unstable;  // bool: rounding decides here (lion, adam), so it is not judged
    std::vector<double> norms;         // of the unscaled gradients of each step
};

// By the reference, on the CPU.
OptimizerTruth find_truth(const OptimizerSpec& spec, std::uint64_t seed);

}  // namespace switchyard::conformance
