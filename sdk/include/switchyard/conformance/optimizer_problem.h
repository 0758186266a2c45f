// What an optimizer is given in one case.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <switchyard/conformance/values.h>
#include <switchyard/interfaces/optimizer.h>

namespace switchyard::conformance {

struct OptimizerSpec {
    enum class Aim { steps, large_gradients, state, bad_state, bad_parameters, parts, property };
    // What an algorithm that has no oracle is held to: optimizer_properties.h.
    enum class Property {
        quadratic,
        regression,
        unscaling,
        clipping,
        no_rate,
        rate_tensor,
        decay,
        groups,
        splitting,
        order,
        strides,
        master
    };

    std::string family;
    Aim aim = Aim::steps;
    Property property = Property::quadratic;  // of Aim::property
    OptimizerKind algorithm = OptimizerKind::adamw;
    std::string custom = "";  // the algorithm's name where it is a component's own
    DType dtype = DType::float32, gradient_dtype = DType::float32;
    bool master = false;
    std::int64_t steps = 5;
    double lr = 0.05, beta2 = 0.99;  // of the first group
    double eps = 1e-8, momentum = 0.0;
    bool nesterov = false;
    double max_grad_norm = 0.0;  // 0: no clipping
    double grad_scale = 1.0;
    bool unscale = false;
    bool as_tensors = false;  // scale and rate come as tensors
    double bad_value = 0.0;   // not 0: the gradient of bad_parameter has it in the third step
    std::string bad_parameter = "no_decay.one";
    double start = 0.4, gradient = 0.5;  // how large weights and gradients are
    std::int64_t zero_steps = 0;         // gradients are zeros in so many first steps
    std::int64_t counted_steps = 0;      // > 0: after the first step the state says that there were so many
    bool own_hyper = false;              // groups differ in eps and momentum, too, and there is a third one
    std::int64_t long_size = 4097;       // of the largest parameter
    std::string detail = "";             // the name's end: what it does not tell otherwise
    Placement values = Placement::dense, gradients = Placement::dense;
    bool deterministic = false;
    int threads = 1;

    bool folded() const { return unscale || max_grad_norm > 0.0; }
    bool has_oracle() const { return algorithm != OptimizerKind::custom; }
};

constexpr std::int64_t bad_step = 2;

// One copy of everything; two copies from one spec and seed are equal and share no memory.
struct OptimizerProblem {
    OptimizerSpec spec;
    std::uint64_t seed = 0;
    at::Device device = at::kCPU;
    std::vector<ParameterGroup> groups;
    StepParams params;

    std::optional<at::ScalarType> widened;  // the dtype of everything, if not the spec's
    // Gradients before they are placed, float64, of the steps so far; from the 61st on they come again.
    std::vector<std::vector<at::Tensor>> drawn = {};
};

// How many parameters and values that has.
std::int64_t parameter_count(const OptimizerSpec& spec);
std::int64_t value_count(const OptimizerSpec& spec);

OptimizerProblem make_problem(const OptimizerSpec& spec, std::uint64_t seed, at::Device device);

// Makes the same numbers of a wider dtype, without low-precision storage.
void widen(OptimizerProblem& problem, at::ScalarType type);

// Gives the parameters new gradients, those of that step.
void set_gradients(OptimizerProblem& problem, std::int64_t step);

// All parameters, group after group.
std::vector<Parameter*> parameters_of(std::vector<ParameterGroup>& groups);

// What a step updates - the master weight where there is one - of all parameters end to end, on the CPU:
// [values].
at::Tensor all_targets(std::vector<ParameterGroup>& groups);
// Name and place in it of the number `flat` of all_targets.
std::string target_at(std::vector<ParameterGroup>& groups, std::int64_t flat);

}  // namespace switchyard::conformance
