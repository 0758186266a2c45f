#include <switchyard/conformance/optimizer_properties.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include <switchyard/conformance/optimizer_state_checks.h>
#include <switchyard/interfaces/torch_types.h>

namespace switchyard::conformance {
namespace {

using Property = OptimizerSpec::Property;
using Values = std::map<std::string, at::Tensor>;  // float64 on the CPU, by parameter
using Change = std::function<void(OptimizerProblem&, std::int64_t step)>;

constexpr std::int64_t compared_steps = 6;
// Differ from step to step, so that what remembers earlier gradients shows which factor it saw.
constexpr double scales[] = {512.0, 8.0, 4096.0, 1.0, 64.0, 2048.0};
constexpr double sizes[] = {1.0, 8.0, 0.05, 3.0, 0.5, 20.0};

const at::Tensor& target_of(const Parameter& parameter) {
    return parameter.master.defined() ? parameter.master : parameter.value;
}

Values targets_of(std::vector<ParameterGroup>& groups) {
    Values values;
    for (const Parameter* parameter : parameters_of(groups))
        values[parameter->name] = target_of(*parameter).detach().to(at::kCPU, at::kDouble, false, true);
    return values;
}

double rms_of(const at::Tensor& values) {
    return values.numel() == 0 ? 0.0 : values.square().mean().sqrt().item<double>();
}

void scale_gradients(OptimizerProblem& problem, double factor) {
    for (Parameter* parameter : parameters_of(problem.groups)) {
        if (parameter->gradient.defined()) parameter->gradient = parameter->gradient * factor;
    }
}

at::Tensor float_scalar(double value, at::Device device) {
    return at::scalar_tensor(value, at::TensorOptions().dtype(at::kFloat).device(device));
}

// What all checks of one case have in common.
class Properties {
public:
    Properties(const OptimizerSpec& spec, const OptimizerRequest& request, std::uint64_t seed,
               at::Device device, Findings& findings)
        : spec_(spec), seed_(seed), device_(device), findings_(findings) {
        auto own = std::make_shared<OptimizerRequest>(request);
        own->parameters = own->tensors = 0;  // of some of the groups, too
        request_ = own;
    }

    const OptimizerSpec& spec() const { return spec_; }
    std::uint64_t seed() const { return seed_; }
    at::Device device() const { return device_; }
    Findings& findings() { return findings_; }
    OptimizerProblem problem() const { return make_problem(spec_, seed_, device_); }
    std::shared_ptr<const OptimizerRequest> request() const { return request_; }

    // A new component's steps of that problem; `change` is made to it after its gradients are set.
    Values run(OptimizerProblem& problem, const Change& change = {}, OptimizerState* state = nullptr) {
        Binding binding(findings_.component(), request_);
        auto& optimizer = *static_cast<Optimizer*>(binding.interface());
        optimizer.bind(problem.groups);
        for (std::int64_t t = 0; t < compared_steps; ++t) {
            set_gradients(problem, t);
            if (change) change(problem, t);
            optimizer.step(problem.groups, problem.params);
        }
        if (state != nullptr) *state = cloned(optimizer.state());
        return targets_of(problem.groups);
    }

    // A fault where a parameter of `found` is further from `expected` than rounding explains.
    void same(const char* code, const std::string& what, const Values& found, const Values& expected) {
        auto begun = problem();
        const Values start = targets_of(begun.groups);
        for (const auto& [name, value] : found) {
            const at::Tensor& right = expected.at(name);
            const double off = rms_of(value - right), moved = rms_of(right - start.at(name));
            const double allowed = 0.01 * moved + rounding() * rms_of(right);
            if (off <= allowed) continue;  // NaN is not
            std::ostringstream text;
            text << what << ": " << name << " is off by " << off << " (rms), allowed " << allowed
                 << ", and has come " << moved;
            return findings_.add(code, text.str());
        }
    }

    double rounding() const {
        return 16.0 * unit_roundoff(spec_.master ? at::kFloat : to_scalar_type(spec_.dtype));
    }

private:
    const OptimizerSpec& spec_;
    std::uint64_t seed_;
    at::Device device_;
    Findings& findings_;
    std::shared_ptr<const OptimizerRequest> request_;
};

void check_same_state(Properties& held, const char* code, const OptimizerState& found,
                      const OptimizerState& expected) {
    std::map<std::pair<std::string, std::string>, at::Tensor> entries;
    for (const OptimizerStateEntry& entry : expected.entries)
        entries[{entry.parameter, entry.key}] = entry.value;
    for (const OptimizerStateEntry& entry : found.entries) {
        const auto right = entries.find({entry.parameter, entry.key});
        if (right == entries.end() || !entry.value.is_floating_point()) continue;
        const at::Tensor exact = right->second.to(at::kDouble);
        const double size = rms_of(exact), off = rms_of(entry.value.to(at::kDouble) - exact);
        if (off <= 0.02 * size + 1e-30) continue;
        std::ostringstream text;
        text << "state entry '" << entry.key << "' of '" << entry.parameter << "' is off by " << off
             << " (rms), its size is " << size;
        return held.findings().add(code, text.str());
    }
}

void check_unscaling(Properties& held) {
    OptimizerSpec plain = held.spec();
    plain.as_tensors = false;
    auto right = make_problem(plain, held.seed(), held.device());
    auto scaled = make_problem(plain, held.seed(), held.device());
    OptimizerState right_state, state;
    const Values expected = held.run(right, {}, &right_state);
    const bool by_tensor = held.spec().as_tensors;
    const Values found = held.run(
        scaled,
        [&](OptimizerProblem& problem, std::int64_t t) {
            scale_gradients(problem, scales[t]);
            problem.params.grad_scale = by_tensor ? 3.0 : scales[t];  // the tensor replaces it
            if (by_tensor) problem.params.grad_scale_tensor = float_scalar(scales[t], held.device());
        },
        &state);
    held.same("not_unscaled", "gradients times grad_scale, against the same without", found, expected);
    check_same_state(held, "not_unscaled", state, right_state);
}

void check_clipping(Properties& held) {
    auto clipped = held.problem(), right = held.problem();
    const double most = held.spec().max_grad_norm;
    right.params.max_grad_norm = 0.0;
    OptimizerState state, right_state;
    const Values found = held.run(
        clipped, [](OptimizerProblem& p, std::int64_t t) { scale_gradients(p, sizes[t]); }, &state);
    const Values expected = held.run(
        right,
        [&](OptimizerProblem& p, std::int64_t t) {
            scale_gradients(p, sizes[t]);
            scale_gradients(p, std::min(1.0, most / (norm_of_gradients(p) + 1e-6)));
        },
        &right_state);
    held.same("wrong_clip", "max_grad_norm, against gradients that come clipped", found, expected);
    check_same_state(held, "wrong_clip", state, right_state);
}

void check_no_rate(Properties& held) {
    auto problem = held.problem();
    for (ParameterGroup& group : problem.groups) group.hyper.lr = 0.0;
    std::vector<at::Tensor> values, masters;
    for (const Parameter* parameter : parameters_of(problem.groups)) {
        values.push_back(parameter->value.clone());
        masters.push_back(parameter->master.defined() ? parameter->master.clone() : at::Tensor());
    }
    held.run(problem);
    const auto parameters = parameters_of(problem.groups);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const bool kept = parameters[i]->value.equal(values[i]) &&
                          (!masters[i].defined() || parameters[i]->master.equal(masters[i]));
        if (!kept)
            return held.findings().add("changed_without_rate",
                                       parameters[i]->name + " was changed, and lr is 0 in all groups");
    }
}

void check_rate_tensor(Properties& held) {
    auto by_tensor = held.problem(), by_number = held.problem();
    by_tensor.params.lr_factor_tensor = float_scalar(0.25, held.device());
    for (ParameterGroup& group : by_number.groups) group.hyper.lr *= 0.25;
    const Values expected = held.run(by_number);
    held.same("wrong_rate", "lr_factor_tensor 0.25, against a quarter of lr", held.run(by_tensor), expected);
}

void check_decay(Properties& held) {
    auto none = held.problem(), much = held.problem();
    for (ParameterGroup& group : none.groups) group.hyper.weight_decay = 0.0;
    for (ParameterGroup& group : much.groups) group.hyper.weight_decay = 0.5;
    const Values without = held.run(none), with = held.run(much);
    for (const auto& [name, value] : with) {
        if (rms_of(value - without.at(name)) > held.rounding() * rms_of(value)) return;
    }
    held.findings().add("ignores_decay",
                        "weight_decay 0.5 and 0 give the same parameters: a run that asks for decay would "
                        "have none");
}

void check_groups(Properties& held) {
    auto together = held.problem();
    const Values found = held.run(together);
    for (std::size_t i = 0; i < together.groups.size(); ++i) {
        auto alone = held.problem();
        alone.groups = {alone.groups[i]};
        const std::string what = "group '" + alone.groups[0].name + "' beside others, against it alone";
        const Values expected = held.run(alone);
        Values of_group;
        for (const auto& [name, value] : expected) of_group[name] = found.at(name);
        held.same("wrong_group", what, of_group, expected);
    }
}

void check_splitting(Properties& held) {
    auto whole = held.problem(), split = held.problem();
    std::vector<ParameterGroup> parts;
    for (const ParameterGroup& group : split.groups) {
        const auto middle =
            group.parameters.begin() + static_cast<std::ptrdiff_t>(group.parameters.size() / 2);
        parts.push_back({group.name + ".1", group.hyper, {group.parameters.begin(), middle}});
        parts.push_back({group.name + ".2", group.hyper, {middle, group.parameters.end()}});
    }
    split.groups = std::move(parts);
    const Values expected = held.run(whole);
    held.same("depends_on_grouping", "groups cut in two", held.run(split), expected);
}

void check_order(Properties& held) {
    auto problem = held.problem(), other = held.problem();
    std::ranges::reverse(other.groups);
    for (ParameterGroup& group : other.groups) std::ranges::reverse(group.parameters);
    const Values expected = held.run(problem);
    held.same("depends_on_order", "groups and parameters in the opposite order", held.run(other), expected);
}

void check_strides(Properties& held) {
    OptimizerSpec dense = held.spec();
    dense.gradients = Placement::dense;
    auto right = make_problem(dense, held.seed(), held.device());
    auto problem = held.problem();
    const Values expected = held.run(right);
    held.same("depends_on_strides", "gradients with strides, against dense ones", held.run(problem),
              expected);
}

void check_master(Properties& held) {
    OptimizerSpec wide = held.spec();
    wide.dtype = DType::float32;
    wide.master = false;
    auto masters = held.problem(), right = make_problem(wide, held.seed(), held.device());
    const Values found = held.run(masters);
    auto request = std::make_shared<OptimizerRequest>(*held.request());
    request->dtype = DType::float32;
    request->master_weights = false;
    if (!ask(held.findings().component(), *request).ok()) return;  // masters alone are served
    Properties in_float(wide, *request, held.seed(), held.device(), held.findings());
    held.same("ignores_master", "master weights, against parameters of float32", found, in_float.run(right));
}

// A convex function of a few parameters, and its gradients.
class Convex {
public:
    explicit Convex(const Properties& held) : held_(held) {}
    virtual ~Convex() = default;
    virtual double value() const = 0;
    virtual double least() const = 0;
    virtual void set_gradients() = 0;

    std::vector<ParameterGroup> groups{{"all", {}, {}}};

protected:
    void add(const std::string& name, const at::Tensor& start) {
        Parameter parameter;
        parameter.name = name;
        parameter.value = start.to(held_.device(), to_scalar_type(held_.spec().dtype), false, true);
        if (held_.spec().master) parameter.master = start.to(held_.device(), at::kFloat, false, true);
        groups[0].parameters.push_back(std::move(parameter));
    }
    at::Tensor now(std::size_t i) const {
        return target_of(groups[0].parameters[i]).to(at::kCPU, at::kDouble);
    }
    void set_gradient(std::size_t i, const at::Tensor& gradient) {
        groups[0].parameters[i].gradient =
            gradient.to(held_.device(), to_scalar_type(held_.spec().gradient_dtype));
    }
    std::size_t count() const { return groups[0].parameters.size(); }

private:
    const Properties& held_;
};

// Half the sum of curvature * (w - middle)^2, with curvatures between 0.5 and 2.
class Quadratic final : public Convex {
public:
    explicit Quadratic(const Properties& held) : Convex(held) {
        const std::vector<std::pair<const char*, std::vector<std::int64_t>>> shapes = {
            {"matrix", {16, 8}}, {"vector", {12}}, {"tensor", {3, 4, 2}}};
        for (const auto& [name, shape] : shapes) {
            const auto chance = seed_of(name, held.seed());
            middles_.push_back(bell(shape, chance));
            curvatures_.push_back((bell(shape, chance + 2) * 0.4).exp().clamp(0.5, 2.0));
            add(name, middles_.back() + bell(shape, chance + 4));
        }
    }
    double value() const override {
        double sum = 0.0;
        for (std::size_t i = 0; i < count(); ++i)
            sum += 0.5 * (curvatures_[i] * (now(i) - middles_[i]).square()).sum().item<double>();
        return sum;
    }
    double least() const override { return 0.0; }
    void set_gradients() override {
        for (std::size_t i = 0; i < count(); ++i) set_gradient(i, curvatures_[i] * (now(i) - middles_[i]));
    }

private:
    std::vector<at::Tensor> middles_, curvatures_;
};

// The mean squared error of a linear layer on 64 samples of one that it can be, with a little noise.
class Regression final : public Convex {
public:
    explicit Regression(const Properties& held) : Convex(held) {
        const auto chance = seed_of("regression", held.seed());
        x_ = bell({samples, 8}, chance);
        const at::Tensor weight = bell({3, 8}, chance + 2), bias = bell({3}, chance + 4);
        y_ = at::matmul(x_, weight.t()) + bias + bell({samples, 3}, chance + 6) * 0.05;
        least_ = value_of(weight, bias);
        add("weight", bell({3, 8}, chance + 8) * 0.1);
        add("bias", at::zeros({3}, at::kDouble));
    }
    double value() const override { return value_of(now(0), now(1)); }
    double least() const override { return least_; }
    void set_gradients() override {
        const at::Tensor off = (at::matmul(x_, now(0).t()) + now(1) - y_) * (2.0 / samples);
        set_gradient(0, at::matmul(off.t(), x_));
        set_gradient(1, off.sum(0));
    }

private:
    static constexpr std::int64_t samples = 64;
    double value_of(const at::Tensor& weight, const at::Tensor& bias) const {
        return (at::matmul(x_, weight.t()) + bias - y_).square().sum().item<double>() / samples;
    }
    at::Tensor x_, y_;
    double least_ = 0.0;
};

// At a learning rate that falls to 0, as schedules have it, one of several that are far apart.
template <class Function>
void check_convergence(Properties& held) {
    constexpr std::int64_t steps = 400;
    constexpr double wanted = 0.05;  // of what there is to gain, what is left
    const double begun = Function(held).value();
    double best = begun, left = 1.0;
    for (const double lr : {0.1, 0.03, 0.3, 0.01, 1.0, 3e-3}) {
        Function function(held);
        Binding binding(held.findings().component(), held.request());
        auto& optimizer = *static_cast<Optimizer*>(binding.interface());
        optimizer.bind(function.groups);
        for (std::int64_t t = 0; t < steps; ++t) {
            function.groups[0].hyper.lr = lr * (1.0 - static_cast<double>(t) / steps);
            function.set_gradients();
            optimizer.step(function.groups, {});
        }
        const double reached = function.value();
        if (!(reached < best)) continue;  // NaN is none
        best = reached;
        left = (best - function.least()) / (begun - function.least());
        if (left <= wanted) return;
    }
    std::ostringstream text;
    text << steps << " steps at the best of 6 learning rates from 0.003 to 1 take a convex function from "
         << begun << " to " << best << ": of what there is to gain " << left << " is left, expected at most "
         << wanted;
    held.findings().add("does_not_converge", text.str());
}

}  // namespace

double norm_of_gradients(OptimizerProblem& problem) {
    const at::Tensor& by_tensor = problem.params.grad_scale_tensor;
    const double scale = by_tensor.defined() ? by_tensor.item<double>() : problem.params.grad_scale;
    double squares = 0.0;
    for (const Parameter* parameter : parameters_of(problem.groups)) {
        if (parameter->gradient.defined())
            squares += parameter->gradient.to(at::kDouble).square().sum().item<double>();
    }
    return std::sqrt(squares) / scale;
}

void check_property(const OptimizerSpec& spec, const std::shared_ptr<const OptimizerRequest>& request,
                    std::uint64_t seed, at::Device device, Findings& findings) {
    Properties held(spec, *request, seed, device, findings);
    switch (spec.property) {
        case Property::quadratic:
            return check_convergence<Quadratic>(held);
        case Property::regression:
            return check_convergence<Regression>(held);
        case Property::unscaling:
            return check_unscaling(held);
        case Property::clipping:
            return check_clipping(held);
        case Property::no_rate:
            return check_no_rate(held);
        case Property::rate_tensor:
            return check_rate_tensor(held);
        case Property::decay:
            return check_decay(held);
        case Property::groups:
            return check_groups(held);
        case Property::splitting:
            return check_splitting(held);
        case Property::order:
            return check_order(held);
        case Property::strides:
            return check_strides(held);
        case Property::master:
            return check_master(held);
    }
}

}  // namespace switchyard::conformance
