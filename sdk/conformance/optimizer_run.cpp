#include <switchyard/conformance/optimizer_run.h>

#include <cmath>
#include <optional>
#include <sstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include <switchyard/conformance/optimizer_part_checks.h>
#include <switchyard/conformance/optimizer_properties.h>
#include <switchyard/conformance/optimizer_state_checks.h>
#include <switchyard/conformance/optimizer_truth.h>
#include <switchyard/conformance/threads.h>

namespace switchyard::conformance {
namespace {

using Tensors = std::vector<at::Tensor>;

Tensors clones(const Tensors& tensors) {
    Tensors copies;
    for (const at::Tensor& tensor : tensors) copies.push_back(tensor.defined() ? tensor.clone() : tensor);
    return copies;
}

std::string at_step(std::int64_t t) { return "step " + std::to_string(t + 1) + ": "; }

// What a step may write, in one list: values, masters, gradients.
Tensors written_by_step(std::vector<ParameterGroup>& groups) {
    Tensors all;
    for (const Parameter* parameter : parameters_of(groups)) {
        for (const at::Tensor& tensor : {parameter->value, parameter->master, parameter->gradient}) {
            if (tensor.defined()) all.push_back(tensor);
        }
    }
    return all;
}

// Whether a call has written next to tensors that it may write.
class Surroundings {
public:
    explicit Surroundings(Tensors tensors)
        : tensors_(std::move(tensors)), before_(clones(tensors_)), memory_(tensors_) {}
    bool changed() const {
        const Tensors now = clones(tensors_);
        put(before_);
        const bool result = memory_.changed() >= 0;
        put(now);
        return result;
    }

private:
    void put(const Tensors& values) const {
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            // Of an expanded tensor one entry stands for all.
            const bool expanded =
                tensors_[i].dim() > 0 && tensors_[i].stride(0) == 0 && tensors_[i].size(0) > 0;
            if (expanded)
                tensors_[i].narrow(0, 0, 1).copy_(values[i].narrow(0, 0, 1));
            else
                tensors_[i].copy_(values[i]);
        }
    }
    Tensors tensors_, before_;
    Snapshot memory_;
};

class OptimizerRun {
public:
    OptimizerRun(const OptimizerSpec& spec, const std::shared_ptr<const OptimizerRequest>& request,
                 std::uint64_t seed, at::Device device, Findings& findings)
        : spec_(spec),
          findings_(findings),
          problem_(make_problem(spec, seed, device)),
          binding_(findings.component(), request) {
        if (spec.has_oracle()) truth_.emplace(spec, seed);
        optimizer().bind(problem_.groups);
    }

    void run() {
        for (std::int64_t t = 0; t < spec_.steps && !findings_.any(); ++t) {
            set_gradients(problem_, t);
            if (truth_) truth_->step(t);
            if (!truth_ && spec_.folded()) norm_ = norm_of_gradients(problem_);
            const bool bad = spec_.bad_value != 0.0 && t == bad_step;
            if (bad)
                step_with_bad_gradient(t);
            else if (looked_at(t))
                step(t);
            else
                step_unseen();
            if (t == 0 && spec_.counted_steps > 0) set_counted();
        }
    }

private:
    Optimizer& optimizer() { return *static_cast<Optimizer*>(binding_.interface()); }

    // Each step of a short run; of a long one the first and then every 250th.
    bool looked_at(std::int64_t t) const { return t < 64 || (t + 1) % 250 == 0 || t + 1 == spec_.steps; }

    void step_unseen() {
        const Threads threads(spec_.threads);
        optimizer().step(problem_.groups, problem_.params);
        binding_.take_executed();
        ++steps_;
    }

    // The component's own state, as if it had been made by so many steps.
    void set_counted() {
        OptimizerState state = cloned(optimizer().state());
        state.step = steps_ = spec_.counted_steps;
        optimizer().load(state);
    }

    StepResult call(std::int64_t t) {
        const Surroundings surroundings(written_by_step(problem_.groups));
        Tensors untouched = {problem_.params.grad_scale_tensor, problem_.params.lr_factor_tensor};
        // Folded unscaling and clipping may leave its result in the gradients, as clip_grad_norm_ does.
        if (!spec_.folded()) {
            for (const Parameter* parameter : parameters_of(problem_.groups))
                untouched.push_back(parameter->gradient);
        }
        const Snapshot inputs(untouched);
        const StepResult result = [&] {
            const Threads threads(spec_.threads);
            return optimizer().step(problem_.groups, problem_.params);
        }();
        const int changed = inputs.changed();
        if (changed >= 0) {
            findings_.add("modified_input",
                          at_step(t) + (changed < 2 ? "a scalar of the step's parameters" : "a gradient") +
                              " was changed by the call");
        }
        if (surroundings.changed())
            findings_.add("modified_input",
                          at_step(t) + "memory beside a parameter or its gradient was written");
        return result;
    }

    void step(std::int64_t t) {
        const auto parameters = parameters_of(problem_.groups);
        Tensors values;
        for (const Parameter* parameter : parameters) values.push_back(parameter->value.clone());
        const StepResult result = call(t);
        findings_.check_executed(binding_);
        ++steps_;
        const std::int64_t counted = optimizer().state().step;
        if (counted != steps_) {
            findings_.add("wrong_state", at_step(t) + "the state counts " + std::to_string(counted) +
                                             " steps, expected " + std::to_string(steps_));
        }
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            const Parameter& parameter = *parameters[i];
            if (!parameter.gradient.defined() && !parameter.value.equal(values[i])) {
                findings_.add("wrong_update",
                              at_step(t) + parameter.name + " has no gradient and was changed");
            }
            if (parameter.master.defined() && parameter.gradient.defined() &&
                !parameter.value.equal(parameter.master.to(parameter.value.scalar_type()))) {
                findings_.add("wrong_update",
                              at_step(t) + parameter.name + " is not its master weight, rounded");
            }
        }
        check_norm(t, result.grad_norm);
        check_found_inf(t, result.found_inf, false);
        if (spec_.aim == OptimizerSpec::Aim::steps) check_targets(t);
    }

    void check_finite(std::int64_t t, const at::Tensor& found) {
        const at::Tensor bad = found.isfinite().logical_not();
        if (!bad.any().item<bool>()) return;
        findings_.add("nan", at_step(t) +
                                 target_at(problem_.groups, bad.to(at::kInt).argmax().item<std::int64_t>()) +
                                 " is not finite, and all gradients are");
    }

    void check_targets(std::int64_t t) {
        at::Tensor found = all_targets(problem_.groups);
        if (!truth_) return check_finite(t, found);
        const at::Tensor oracle = truth_->targets();
        if (truth_->unstable().defined())
            found = at::where(truth_->unstable(), oracle.to(found.scalar_type()), found);
        std::string what = at_step(t) + "parameters";
        if (oracle.numel() > 0) {
            const at::Tensor off = (found.to(at::kDouble) - oracle).abs();
            what += ", worst at " + target_at(problem_.groups, off.argmax().item<std::int64_t>());
        }
        findings_.compare(what, found, {oracle, truth_->error(), 2.0, {}, 0.0, 0.0}, "wrong_update");
    }

    void check_norm(std::int64_t t, const at::Tensor& norm) {
        if (!spec_.folded()) {
            if (norm.defined())
                findings_.add("wrong_norm", at_step(t) + "grad_norm is defined, but nothing asked for it");
            return;
        }
        if (!norm.defined() || norm.dim() != 0 || norm.scalar_type() != at::kFloat)
            return findings_.add("wrong_norm", at_step(t) + "grad_norm is no float32 scalar");
        if (spec_.aim == OptimizerSpec::Aim::large_gradients) return;
        const double expected = truth_ ? truth_->norm() : norm_, found = norm.item<double>();
        const auto values = static_cast<double>(value_count(spec_));
        const double allowed = expected * 16.0 * unit_roundoff(at::kFloat) * std::sqrt(values);
        if (std::abs(found - expected) <= allowed) return;
        std::ostringstream text;
        text << at_step(t) << "grad_norm is " << found << ", expected " << expected << " +- " << allowed;
        findings_.add("wrong_norm", text.str());
    }

    void check_found_inf(std::int64_t t, const at::Tensor& found, bool expected) {
        if (!spec_.unscale) {
            if (found.defined())
                findings_.add("missed_found_inf",
                              at_step(t) + "found_inf is defined, but no unscaling was asked for");
            return;
        }
        if (!found.defined() || found.dim() != 0 || found.scalar_type() != at::kFloat)
            return findings_.add("missed_found_inf", at_step(t) + "found_inf is no float32 scalar");
        if (found.item<double>() == (expected ? 1.0 : 0.0)) return;
        std::ostringstream text;
        text << at_step(t) << "found_inf is " << found.item<double>() << ", but "
             << (expected ? "a gradient of " + spec_.bad_parameter + " is not finite"
                          : "all gradients are finite");
        findings_.add("missed_found_inf", text.str());
    }

    void step_with_bad_gradient(std::int64_t t) {
        Tensors kept;
        for (const Parameter* parameter : parameters_of(problem_.groups)) {
            for (const at::Tensor& tensor : {parameter->value, parameter->master}) {
                if (tensor.defined()) kept.push_back(tensor);
            }
        }
        const Tensors before = clones(kept);
        const OptimizerState state = cloned(optimizer().state());
        const StepResult result = call(t);
        binding_.take_executed();  // whether a kernel ran that changed nothing is its own affair
        check_found_inf(t, result.found_inf, true);
        for (std::size_t i = 0; i < kept.size(); ++i) {
            if (kept[i].equal(before[i])) continue;
            findings_.add("changed_on_found_inf", at_step(t) + "a parameter or master weight has changed");
            break;
        }
        const std::string difference = difference_of(optimizer().state(), state);
        if (!difference.empty()) findings_.add("changed_on_found_inf", at_step(t) + difference);
    }

    const OptimizerSpec& spec_;
    Findings& findings_;
    OptimizerProblem problem_;
    std::optional<OptimizerTruth> truth_;  // where the algorithm has an oracle
    double norm_ = 0.0;                    // of the unscaled gradients, where it has none
    Binding binding_;
    std::int64_t steps_ = 0;
};

}  // namespace

void run_optimizer(const OptimizerSpec& spec, const std::shared_ptr<const OptimizerRequest>& request,
                   std::uint64_t seed, at::Device device, Findings& findings) {
    switch (spec.aim) {
        case OptimizerSpec::Aim::state:
            return check_continuation(spec, request, seed, device, findings);
        case OptimizerSpec::Aim::bad_state:
            return check_bad_states(spec, request, seed, device, findings);
        case OptimizerSpec::Aim::bad_parameters:
            return check_bad_parameters(spec, request, seed, device, findings);
        case OptimizerSpec::Aim::parts:
            return check_parts(spec, request, seed, device, findings);
        case OptimizerSpec::Aim::property:
            return check_property(spec, request, seed, device, findings);
        default:
            return OptimizerRun(spec, request, seed, device, findings).run();
    }
}

}  // namespace switchyard::conformance
