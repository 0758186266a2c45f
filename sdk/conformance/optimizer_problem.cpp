#include <switchyard/conformance/optimizer_problem.h>

#include <limits>
#include <sstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>
#include <c10/util/accumulate.h>

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/optimizer.h>

namespace switchyard::conformance {
namespace {

constexpr double poison = std::numeric_limits<double>::quiet_NaN();

struct Shape {
    const char* name;
    std::vector<std::int64_t> sizes;
};

// The first group decays; the second has another rate and betas.
std::vector<std::vector<Shape>> shapes_of(const OptimizerSpec& spec) {
    std::vector<std::vector<Shape>> shapes = {{{"decay.matrix", {5, 13}},
                                               {"decay.vector", {7}},
                                               {"decay.long", {4097}},
                                               {"decay.tensor", {3, 2, 4}}},
                                              {{"no_decay.empty", {0}},
                                               {"no_decay.one", {1}},
                                               {"no_decay.scalar", {}},
                                               {"no_decay.never", {3}},
                                               {"no_decay.sometimes", {6, 4}},
                                               {"no_decay.last", {2, 3}}}};
    if (spec.threads > 1) shapes[0].push_back({"decay.large", {70001}});
    return shapes;
}

HyperParameters hyper_of(const OptimizerSpec& spec, std::size_t group) {
    HyperParameters hyper;
    hyper.lr = group == 0 ? 0.05 : 0.02;
    hyper.beta1 = group == 0 ? 0.9 : 0.8;
    hyper.beta2 = group == 0 ? 0.99 : 0.95;
    hyper.eps = spec.eps;
    hyper.weight_decay = group == 0 ? 0.1 : 0.0;
    hyper.momentum = spec.momentum;
    hyper.nesterov = spec.nesterov;
    return hyper;
}

bool has_gradient(const std::string& parameter, std::int64_t step) {
    if (parameter == "no_decay.never") return false;
    return parameter != "no_decay.sometimes" || step != 1;
}

at::Tensor make_gradient(const OptimizerSpec& spec, const Parameter& parameter, std::int64_t step,
                         std::uint64_t seed, at::Device device) {
    if (!has_gradient(parameter.name, step)) return {};
    const double size = spec.aim == OptimizerSpec::Aim::large_gradients ? 1e25 : 0.5;
    const std::string name = parameter.name + "/" + std::to_string(step);
    at::Tensor values = bell(parameter.value.sizes(), seed_of(name, seed)) * (size * spec.grad_scale);
    if (spec.bad_value != 0.0 && step == bad_step && parameter.name == spec.bad_parameter)
        values.view({-1})[values.numel() - 1].fill_(spec.bad_value);
    return place(values, to_scalar_type(spec.gradient_dtype), device, spec.gradients, poison);
}

StepParams params_of(const OptimizerSpec& spec, at::Device device) {
    StepParams params;
    params.max_grad_norm = spec.max_grad_norm;
    params.grad_scale = spec.grad_scale;
    if (!spec.as_tensors) return params;
    const auto scalar = [&](double value) {
        return at::scalar_tensor(value, at::TensorOptions().dtype(at::kFloat).device(device));
    };
    params.grad_scale = 3.0;  // to be replaced
    params.grad_scale_tensor = scalar(spec.grad_scale);
    params.lr_factor_tensor = scalar(0.5);
    return params;
}

enum class Width { as_given, float32, float64 };

// The same numbers without low-precision storage.
void widen(OptimizerProblem& problem, Width width) {
    if (width == Width::as_given) return;
    const auto type = width == Width::float64 ? at::kDouble : at::kFloat;
    for (Parameter* parameter : parameters_of(problem.groups)) {
        parameter->value =
            (parameter->master.defined() ? parameter->master : parameter->value).to(type, false, true);
        parameter->master = at::Tensor();
    }
    for (auto& step : problem.gradients) {
        for (at::Tensor& gradient : step) {
            if (gradient.defined()) gradient = gradient.to(type, false, true);
        }
    }
}

struct Trajectory {
    std::vector<at::Tensor> targets;
    std::vector<double> norms;
};

// The gradients of one step are off by `size` of themselves, up or down by chance.
struct Nudge {
    std::int64_t step = -1;
    double size = 0.0;
};

// Runs the reference.
Trajectory follow(const OptimizerSpec& spec, std::uint64_t seed, Width width, const Nudge& nudge = {}) {
    OptimizerProblem problem = make_problem(spec, seed, at::kCPU);
    widen(problem, width);
    reference::OptimizerSteps steps(spec.algorithm);
    steps.bind(problem.groups);
    Trajectory found;
    for (std::int64_t t = 0; t < optimizer_steps; ++t) {
        set_gradients(problem, t);
        for (Parameter* parameter : parameters_of(problem.groups)) {
            at::Tensor& gradient = parameter->gradient;
            if (t != nudge.step || !gradient.defined()) continue;
            const auto chance = seed_of(parameter->name, seed + 1000 + static_cast<std::uint64_t>(t));
            gradient =
                gradient * (bell(gradient.sizes(), chance).sign().to(gradient.options()) * nudge.size + 1.0);
        }
        const StepResult result = steps.step(problem.groups, problem.params);
        found.norms.push_back(result.grad_norm.item<double>());
        found.targets.push_back(all_targets(problem.groups).to(at::kDouble));
    }
    return found;
}

// Where rounding decides what comes out: lion's sign of a sum near 0, and adam's g / (|g| + eps) where the decay that is added to a gradient
// cancels it down to about eps.
//
// How much a value does so is measured: a parameter moves by S * nudge when gradients are off by `nudge` of themselves, each step's moves added
// up. Until decay is added, a gradient is the product of at most 8 roundings, so off by 8 u of itself (Higham, Accuracy and Stability of
// Numerical Algorithms, 2nd ed., lemma 3.1): the norm and its root, the bound's sum and quotient, the factor, unscaling, and the product
// with it. The decay's own product is rounded like it where the two cancel. So adam makes 8 u S of it, which may be half of what the
// judge gives for nothing, 4 u max|w| (tolerance.h): a value with S > max|w| / 4 is left out. The other half is for the roundings of w itself.
// That holds in every dtype, since u cancels. About 1 value in 1,400 is left out.
std::vector<at::Tensor> find_unstable(const OptimizerSpec& spec, std::uint64_t seed,
                                      const Trajectory& oracle) {
    constexpr double nudge = 1e-6;
    const bool by_sign = spec.algorithm == OptimizerKind::lion;  // jumps by twice the rate
    std::vector<at::Tensor> moved(oracle.targets.size());
    for (std::int64_t step = 0; step < optimizer_steps; ++step) {
        const Trajectory up = follow(spec, seed, Width::float64, {step, nudge});
        const Trajectory down = follow(spec, seed, Width::float64, {step, -nudge});
        for (std::size_t t = 0; t < moved.size(); ++t) {
            const at::Tensor& right = oracle.targets[t];
            const at::Tensor most =
                at::maximum((up.targets[t] - right).abs(), (down.targets[t] - right).abs());
            moved[t] = moved[t].defined() ? moved[t] + most : most;
        }
    }
    std::vector<at::Tensor> unstable;
    for (std::size_t t = 0; t < moved.size(); ++t) {
        const double allowed = by_sign ? 1e-3 : nudge * spread_of(oracle.targets[t]).largest / 4.0;
        unstable.push_back(moved[t].gt(allowed));
    }
    return unstable;
}

}  // namespace

std::vector<Parameter*> parameters_of(std::vector<ParameterGroup>& groups) {
    std::vector<Parameter*> all;
    for (ParameterGroup& group : groups) {
        for (Parameter& parameter : group.parameters) all.push_back(&parameter);
    }
    return all;
}

std::int64_t parameter_count(const OptimizerSpec& spec) {
    std::int64_t count = 0;
    for (const auto& group : shapes_of(spec)) count += static_cast<std::int64_t>(group.size());
    return count;
}

std::int64_t value_count(const OptimizerSpec& spec) {
    std::int64_t count = 0;
    for (const auto& group : shapes_of(spec)) {
        for (const Shape& shape : group) count += c10::multiply_integers(shape.sizes);
    }
    return count;
}

OptimizerProblem make_problem(const OptimizerSpec& spec, std::uint64_t seed, at::Device device) {
    OptimizerProblem problem;
    problem.params = params_of(spec, device);
    const auto shapes = shapes_of(spec);
    for (std::size_t g = 0; g < shapes.size(); ++g) {
        problem.groups.push_back({g == 0 ? "decay" : "no_decay", hyper_of(spec, g), {}});
        for (const Shape& shape : shapes[g]) {
            const at::Tensor start = bell(shape.sizes, seed_of(shape.name, seed)) * 0.4;
            Parameter parameter;
            parameter.name = shape.name;
            parameter.value = place(start, to_scalar_type(spec.dtype), device, spec.values, poison);
            if (spec.master) parameter.master = place(start, at::kFloat, device, spec.values, poison);
            problem.groups.back().parameters.push_back(parameter);
        }
    }
    for (std::int64_t t = 0; t < optimizer_steps; ++t) {
        auto& gradients = problem.gradients.emplace_back();
        for (const Parameter* parameter : parameters_of(problem.groups))
            gradients.push_back(make_gradient(spec, *parameter, t, seed, device));
    }
    return problem;
}

void set_gradients(OptimizerProblem& problem, std::int64_t step) {
    const auto parameters = parameters_of(problem.groups);
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i]->gradient = problem.gradients[step][i];
}

at::Tensor all_targets(std::vector<ParameterGroup>& groups) {
    std::vector<at::Tensor> flat;
    for (const Parameter* parameter : parameters_of(groups)) {
        flat.push_back(
            (parameter->master.defined() ? parameter->master : parameter->value).detach().reshape({-1}));
    }
    return at::cat(flat).cpu();
}

std::string target_at(std::vector<ParameterGroup>& groups, std::int64_t flat) {
    for (const Parameter* parameter : parameters_of(groups)) {
        if (flat < parameter->value.numel()) {
            std::ostringstream text;
            text << parameter->name << " " << parameter->value.sizes() << ", value " << flat;
            return text.str();
        }
        flat -= parameter->value.numel();
    }
    return "";
}

OptimizerTruth find_truth(const OptimizerSpec& spec, std::uint64_t seed) {
    const Trajectory oracle = follow(spec, seed, Width::float64);
    // float64 has no wider oracle: its errors are taken to be float32's, scaled by the ratio of their units.
    const bool is_double = spec.dtype == DType::float64;
    const double unit_ratio = is_double ? unit_roundoff(at::kDouble) / unit_roundoff(at::kFloat) : 1.0;
    const Trajectory reference = follow(spec, seed, is_double ? Width::float32 : Width::as_given);
    OptimizerTruth truth{oracle.targets, {}, {}, oracle.norms};
    if (spec.algorithm == OptimizerKind::lion || spec.algorithm == OptimizerKind::adam)
        truth.unstable = find_unstable(spec, seed, oracle);
    for (std::size_t t = 0; t < oracle.targets.size(); ++t) {
        at::Tensor found = reference.targets[t];
        if (!truth.unstable.empty()) found = at::where(truth.unstable[t], oracle.targets[t], found);
        Spread error = spread_of(found, oracle.targets[t]);
        truth.errors.push_back({error.rms * unit_ratio, error.largest * unit_ratio});
    }
    return truth;
}

}  // namespace switchyard::conformance
