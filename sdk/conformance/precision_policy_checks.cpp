#include <switchyard/conformance/precision_policy_checks.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

#include <switchyard/conformance/differentiate.h>
#include <switchyard/conformance/precision_linear.h>
#include <switchyard/reference/linear.h>

namespace switchyard::conformance {
namespace {

// Legend:  R rows  I in  O out
constexpr std::int64_t rows = 6, in = 40, out = 24;
const LinearSite checked_site{"decoder.0.feed_forward.up", 0, 2};

struct Call {
    at::Tensor x, grad_y, y, grad_weight;  // grad_weight undefined where the component has no gradients
};

// A policy with one linear layer.
class Subject {
public:
    Subject(const PolicyCase& one, const Findings& findings)
        : one_(one),
          gradient_(findings.facts().gradient),
          binding_(findings.component(), one.request),
          dtypes_(dtypes_of(policy(), checked_site)) {
        weight_OI =
            place(bell({out, in}, one.seed + 1) * 0.3, dtypes_.stored, one.device, Placement::dense, 0.0);
        bias_O = place(bell({out}, one.seed + 2), dtypes_.stored, one.device, Placement::dense, 0.0);
        if (gradient_ == GradientMode::differentiable) weight_OI.requires_grad_();
    }

    Precision& policy() const { return *static_cast<Precision*>(binding_.interface()); }
    Binding& binding() { return binding_; }
    at::ScalarType computed() const { return dtypes_.computed; }

    Call train(std::int64_t number) {
        Call call = data_of(number);
        const LinearInputs inputs{call.x, weight_OI, bias_O};
        if (gradient_ == GradientMode::differentiable) {
            const at::AutoGradMode with_grad(true);
            call.y = policy().linear(inputs, checked_site, nullptr);
            call.grad_weight = differentiate({call.y}, {call.grad_y}, {weight_OI})[0];
            return call;
        }
        const at::NoGradGuard no_grad;
        const bool kernel = gradient_ == GradientMode::kernel;
        Saved saved;
        call.y = policy().linear(inputs, checked_site, kernel ? &saved : nullptr);
        if (kernel)
            call.grad_weight =
                policy().linear_backward(checked_site, saved, call.grad_y, {true, true, true}).weight;
        return call;
    }

    at::Tensor forward(std::int64_t number) {
        const at::NoGradGuard no_grad;
        return policy().linear({data_of(number).x, weight_OI, bias_O}, checked_site, nullptr);
    }

    // A step of two micro-batches.
    void step(std::int64_t number, bool found_inf) {
        policy().begin_step();
        train(2 * number);
        train(2 * number + 1);
        policy().end_step();
        policy().update(found_inf);
    }

    at::Tensor weight_OI, bias_O;

private:
    Call data_of(std::int64_t number) const {
        const auto seed = one_.seed + 10 + 2 * static_cast<std::uint64_t>(number);
        Call call;
        call.x = place(bell({rows, in}, seed), dtypes_.computed, one_.device, Placement::dense, 0.0);
        call.grad_y =
            place(bell({rows, out}, seed + 1), dtypes_.computed, one_.device, Placement::dense, 0.0);
        return call;
    }

    const PolicyCase& one_;
    GradientMode gradient_;
    Binding binding_;
    LinearDtypes dtypes_;
};

// Every class's dtypes at some layers, in words.
std::map<std::string, std::string> declared(const Precision& policy, Findings& findings) {
    std::map<std::string, std::string> all;
    for (std::size_t i = 0; i < names<OpClass>.size(); ++i) {
        for (const char* layer : {"encoder.0", "decoder.11", "model", "encoder.1.attention.q"}) {
            const auto op = static_cast<OpClass>(i);
            const auto say = [&](const char* what, DType dtype) {
                const std::string key =
                    std::string(what) + "(" + std::string(name(op)) + ", \"" + layer + "\")";
                all[key] = name(dtype);
                if (!is_floating(dtype))
                    findings.add("wrong_policy", key + " is " + all[key] + ", which is no floating type");
            };
            say("storage", policy.storage(op, layer));
            say("compute", policy.compute(op, layer));
        }
    }
    return all;
}

void expect_same(const std::map<std::string, std::string>& before,
                 const std::map<std::string, std::string>& now, const std::string& when, Findings& findings) {
    for (const auto& [key, dtype] : before) {
        if (now.at(key) == dtype) continue;
        return findings.add("wrong_policy", key + " is " + dtype + " first, and " + now.at(key) + " " + when);
    }
}

// Values by the oracle; the reference in the policy's dtype says how far they may be.
void compare(const std::string& what, const at::Tensor& found, const at::Tensor& oracle,
             const at::Tensor& reference, double factor, double roundoff, Findings& findings) {
    if (!found.defined() || found.sizes() != oracle.sizes())
        return findings.add("missing_output", what + " is undefined or of another shape");
    findings.compare(what, found.detach().cpu(),
                     {oracle, spread_of(reference, oracle), factor, {}, roundoff, 0.0}, "stale_state");
}

void compare(const std::string& when, const Call& call, const Subject& subject, Findings& findings) {
    const at::NoGradGuard no_grad;
    const auto plain = [](const at::Tensor& tensor, at::ScalarType type) {
        return tensor.detach().cpu().to(type);
    };
    const auto own = subject.computed() == at::kDouble ? at::kFloat : subject.computed();
    const auto y_in = [&](at::ScalarType type) {
        return reference::linear(plain(call.x, type), plain(subject.weight_OI, type),
                                 plain(subject.bias_O, type));
    };
    const auto gradient_in = [&](at::ScalarType type) {
        return plain(call.grad_y, type).t().matmul(plain(call.x, type));
    };
    const double roundoff = unit_roundoff(subject.computed());
    compare(when + "y", call.y, y_in(at::kDouble), y_in(own), 2.0, roundoff, findings);
    if (!call.grad_weight.defined()) return;
    compare(when + "gradient of weight", call.grad_weight, gradient_in(at::kDouble), gradient_in(own), 3.0,
            roundoff, findings);
}

using Entries = std::map<std::string, at::Tensor>;

Entries entries_of(const PrecisionState& state, Findings& findings) {
    Entries entries;
    for (const auto& [key, value] : state.entries) {
        if (!value.defined()) findings.add("wrong_state", "the state's '" + key + "' is undefined");
        const bool is_new = entries.emplace(key, value.defined() ? value.clone() : value).second;
        if (!is_new) findings.add("wrong_state", "the state has '" + key + "' twice");
    }
    return entries;
}

// "" where equal, bit by bit.
std::string difference(const Entries& found, const Entries& expected) {
    if (found.size() != expected.size()) return "the state has another number of entries";
    for (const auto& [key, value] : expected) {
        const auto other = found.find(key);
        if (other == found.end()) return "the state's '" + key + "' is gone";
        if (!other->second.equal(value)) return "the state's '" + key + "' differs";
    }
    return "";
}

PrecisionState state_of(const Entries& entries) {
    PrecisionState state;
    for (const auto& [key, value] : entries) state.entries.push_back({key, value.clone()});
    return state;
}

std::string text_of(double number) {
    std::ostringstream text;
    text << number;
    return text.str();
}

}  // namespace

void check_declared(const PolicyCase& one, Findings& findings) {
    Subject subject(one, findings), other(one, findings);
    const auto before = declared(subject.policy(), findings);
    expect_same(before, declared(other.policy(), findings), "from another component of the same request",
                findings);
    subject.step(0, false);
    findings.check_executed(subject.binding());
    expect_same(before, declared(subject.policy(), findings), "after a step", findings);
    subject.step(1, true);
    expect_same(before, declared(subject.policy(), findings), "after a step with a non-finite gradient",
                findings);
}

void check_loss_scale(const PolicyCase& one, Findings& findings) {
    Subject subject(one, findings);
    double scale = subject.policy().loss_scale();
    const auto expect = [&](bool fine, const std::string& when, const std::string& expected) {
        if (!fine)
            findings.add("wrong_policy", when + " loss_scale is " + text_of(subject.policy().loss_scale()) +
                                             ", expected " + expected);
        return fine;
    };
    const bool scales = one.request->loss_scaling;
    if (!expect(scales ? std::isfinite(scale) && scale > 0.0 : scale == 1.0, "at first",
                scales ? "a positive, finite number" : "1: no scaling was asked for"))
        return;
    // Longer than any range of a float lasts when it is halved or doubled.
    for (const bool found_inf : {true, false}) {
        for (int i = 0; i < 1200; ++i) {
            subject.policy().update(found_inf);
            const double now = subject.policy().loss_scale();
            const std::string when = found_inf ? "after a non-finite gradient" : "after finite gradients";
            if (!expect(scales || now == 1.0, when, "1: no scaling was asked for")) return;
            if (!expect(std::isfinite(now) && now > 0.0, when, "a positive, finite number")) return;
            if (!expect(found_inf ? now <= scale : now >= scale, when,
                        (found_inf ? "at most " : "at least ") + text_of(scale)))
                return;
            scale = now;
        }
    }
}

void check_steps(const PolicyCase& one, Findings& findings) {
    Subject subject(one, findings);
    for (std::int64_t step = 0; step < 3 && !findings.any(); ++step) {
        subject.policy().begin_step();
        for (std::int64_t micro_batch = 0; micro_batch < 2; ++micro_batch) {
            const std::string when = "step " + std::to_string(step + 1) + ", micro-batch " +
                                     std::to_string(micro_batch + 1) + ": ";
            compare(when, subject.train(2 * step + micro_batch), subject, findings);
        }
        subject.policy().end_step();
        subject.policy().update(false);
        const at::NoGradGuard no_grad;
        // The second time past autograd's version counter, as an optimizer's kernel writes.
        (step == 0 ? subject.weight_OI : subject.weight_OI.variable_data()).mul_(-0.5);
        (step == 0 ? subject.bias_O : subject.bias_O.variable_data()).add_(1.0);
    }
    compare("after the steps: ", subject.train(7), subject, findings);
}

void check_recompute(const PolicyCase& one, Findings& findings) {
    Subject subject(one, findings);
    subject.step(0, false);
    subject.policy().begin_step();
    const at::Tensor first = subject.forward(5);
    const Entries before = entries_of(subject.policy().state(), findings);
    subject.policy().set_recompute(true);
    const at::Tensor again = subject.forward(5);
    const Entries after = entries_of(subject.policy().state(), findings);
    subject.policy().set_recompute(false);
    subject.policy().end_step();
    if (!again.equal(first))
        findings.add("wrong_policy", "a recomputed linear call gives other bits than the first");
    const std::string changed = difference(after, before);
    if (!changed.empty()) findings.add("wrong_policy", "a recomputed linear call: " + changed);
}

void check_policy_state(const PolicyCase& one, Findings& findings) {
    Subject first(one, findings);
    for (std::int64_t step = 0; step < 4; ++step) first.step(step, step == 2);
    const Entries handed_over = entries_of(first.policy().state(), findings);
    if (findings.any()) return;
    Subject second(one, findings);
    second.policy().load(state_of(handed_over));
    const std::string loaded = difference(entries_of(second.policy().state(), findings), handed_over);
    if (!loaded.empty()) return findings.add("wrong_state", "after load: " + loaded);
    for (std::int64_t step = 4; step < 8; ++step) {
        const std::string when = std::to_string(step - 4) + " steps after load: ";
        const double scale = second.policy().loss_scale(), expected = first.policy().loss_scale();
        if (scale != expected) {
            return findings.add("wrong_state", when + "loss_scale is " + text_of(scale) +
                                                   ", that of the first is " + text_of(expected));
        }
        if (!second.forward(50).equal(first.forward(50)))
            return findings.add("wrong_state", when + "linear gives other bits than the first component's");
        for (Subject* one_of_both : {&first, &second}) one_of_both->step(step, step == 5);
    }
    const std::string state = difference(entries_of(second.policy().state(), findings),
                                         entries_of(first.policy().state(), findings));
    if (!state.empty()) findings.add("wrong_state", "after load and further steps: " + state);
}

}  // namespace switchyard::conformance
