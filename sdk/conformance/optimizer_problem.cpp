#include <switchyard/conformance/optimizer_problem.h>

#include <limits>
#include <sstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/util/accumulate.h>

#include <switchyard/interfaces/torch_types.h>

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
                                               {"decay.long", {spec.long_size}},
                                               {"decay.tensor", {3, 2, 4}}},
                                              {{"no_decay.empty", {0}},
                                               {"no_decay.one", {1}},
                                               {"no_decay.scalar", {}},
                                               {"no_decay.never", {3}},
                                               {"no_decay.sometimes", {6, 4}},
                                               {"no_decay.last", {2, 3}}}};
    if (spec.threads > 1) shapes[0].push_back({"decay.large", {70001}});
    if (spec.own_hyper) shapes.push_back({{"third.matrix", {7, 9}}, {"third.vector", {33}}});
    return shapes;
}

constexpr const char* group_names[] = {"decay", "no_decay", "third"};

HyperParameters hyper_of(const OptimizerSpec& spec, std::size_t group) {
    HyperParameters hyper;
    hyper.lr = spec.lr * (group == 0 ? 1.0 : 0.4);
    hyper.beta1 = group == 0 ? 0.9 : 0.8;
    hyper.beta2 = group == 0 ? spec.beta2 : 0.95;
    hyper.eps = spec.eps;
    hyper.weight_decay = group == 0 ? 0.1 : 0.0;
    hyper.momentum = spec.momentum;
    hyper.nesterov = spec.nesterov;
    if (!spec.own_hyper || group == 0) return hyper;
    hyper.eps = group == 1 ? 1e-2 : 0.3;
    hyper.momentum = group == 1 ? 0.5 * spec.momentum : 0.0;
    hyper.nesterov = spec.nesterov && group == 1;
    hyper.weight_decay = group == 1 ? 0.02 : 0.3;
    return hyper;
}

bool has_gradient(const std::string& parameter, std::int64_t step) {
    if (parameter == "no_decay.never") return false;
    return parameter != "no_decay.sometimes" || step != 1;
}

constexpr std::int64_t period = 61;  // of the gradients

// Of one parameter in one step, undefined where it has none.
at::Tensor draw_gradient(const OptimizerProblem& problem, const Parameter& parameter, std::int64_t step) {
    const OptimizerSpec& spec = problem.spec;
    if (!has_gradient(parameter.name, step)) return {};
    const double size = spec.aim == OptimizerSpec::Aim::large_gradients ? 1e25 : spec.gradient;
    const std::string name = parameter.name + "/" + std::to_string(step);
    at::Tensor values = bell(parameter.value.sizes(), seed_of(name, problem.seed)) * (size * spec.grad_scale);
    if (spec.bad_value != 0.0 && step == bad_step && parameter.name == spec.bad_parameter)
        values.view({-1})[values.numel() - 1].fill_(spec.bad_value);
    return values;
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
    OptimizerProblem problem{spec, seed, device, {}, params_of(spec, device), {}, {}};
    const auto shapes = shapes_of(spec);
    for (std::size_t g = 0; g < shapes.size(); ++g) {
        problem.groups.push_back({group_names[g], hyper_of(spec, g), {}});
        for (const Shape& shape : shapes[g]) {
            const at::Tensor start = bell(shape.sizes, seed_of(shape.name, seed)) * spec.start;
            Parameter parameter;
            parameter.name = shape.name;
            parameter.value = place(start, to_scalar_type(spec.dtype), device, spec.values, poison);
            if (spec.master) parameter.master = place(start, at::kFloat, device, spec.values, poison);
            problem.groups.back().parameters.push_back(parameter);
        }
    }
    return problem;
}

void widen(OptimizerProblem& problem, at::ScalarType type) {
    problem.widened = type;
    for (Parameter* parameter : parameters_of(problem.groups)) {
        const at::Tensor& target = parameter->master.defined() ? parameter->master : parameter->value;
        parameter->value = target.to(type, false, true);
        parameter->master = at::Tensor();
    }
}

void set_gradients(OptimizerProblem& problem, std::int64_t step) {
    const auto parameters = parameters_of(problem.groups);
    const auto phase = static_cast<std::size_t>(step % period);
    while (problem.drawn.size() <= phase) {
        const auto next = static_cast<std::int64_t>(problem.drawn.size());
        auto& made = problem.drawn.emplace_back();
        for (const Parameter* parameter : parameters)
            made.push_back(draw_gradient(problem, *parameter, next));
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const at::Tensor& values = problem.drawn[phase][i];
        at::Tensor& gradient = parameters[i]->gradient;
        gradient = at::Tensor();
        if (!values.defined()) continue;
        gradient = place(step < problem.spec.zero_steps ? values * 0.0 : values,
                         to_scalar_type(problem.spec.gradient_dtype), problem.device, problem.spec.gradients,
                         poison);
        if (problem.widened) gradient = gradient.to(*problem.widened);
    }
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

}  // namespace switchyard::conformance
