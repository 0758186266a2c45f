#include <switchyard/conformance/precision_policy_checks.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

#include <switchyard/conformance/precision_quantize_checks.h>
#include <switchyard/interfaces/torch_types.h>

namespace switchyard::conformance {
namespace {

constexpr std::int64_t rows = 6, in = 40, out = 24;

// A policy, and one linear layer where it quantizes.
class PolicySubject {
public:
    PolicySubject(const PolicyCase& one, Findings& findings)
        : one_(one), findings_(findings), binding_(findings.component(), one.request) {
        const auto stored = to_scalar_type(policy().storage(OpClass::linear, quantized_site.name));
        weight_OI = place(bell({out, in}, one.seed + 1) * 0.3, stored, one.device, Placement::dense, 0.0);
    }

    Precision& policy() const { return *static_cast<Precision*>(binding_.interface()); }
    bool quantizes() const { return conformance::quantizes(policy()); }

    LayerData data(std::int64_t number) const {
        const auto seed = one_.seed + 10 + 2 * static_cast<std::uint64_t>(number);
        const auto placed = [&](const at::Tensor& values) {
            return place(values, at::kBFloat16, one_.device, Placement::dense, 0.0);
        };
        return {placed(bell({rows, in}, seed)), weight_OI, placed(bell({rows, out}, seed + 1))};
    }

    // The operands of forward and backward.
    Quantized train(std::int64_t number) {
        Quantized made = quantize(binding_, data(number), true, findings_);
        if (!made.refused) add_gradients(binding_, data(number), {}, made);
        return made;
    }
    Quantized forward(std::int64_t number) { return quantize(binding_, data(number), false, findings_); }

    // A step of two micro-batches.
    void step(std::int64_t number, bool found_inf) {
        policy().begin_step();
        for (const std::int64_t micro_batch : {2 * number, 2 * number + 1}) {
            if (quantizes()) train(micro_batch);
        }
        policy().end_step();
        policy().update(found_inf);
    }

    at::Tensor weight_OI;

private:
    const PolicyCase& one_;
    Findings& findings_;
    Binding binding_;
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

using PolicyEntries = std::map<std::string, at::Tensor>;

PolicyEntries entries_of(const PrecisionState& state, Findings& findings) {
    PolicyEntries entries;
    for (const auto& [key, value] : state.entries) {
        if (!value.defined()) findings.add("wrong_state", "the state's '" + key + "' is undefined");
        const bool is_new = entries.emplace(key, value.defined() ? value.clone() : value).second;
        if (!is_new) findings.add("wrong_state", "the state has '" + key + "' twice");
    }
    return entries;
}

// "" where equal, bit by bit.
std::string difference(const PolicyEntries& found, const PolicyEntries& expected) {
    if (found.size() != expected.size()) return "the state has another number of entries";
    for (const auto& [key, value] : expected) {
        const auto other = found.find(key);
        if (other == found.end()) return "the state's '" + key + "' is gone";
        if (!other->second.equal(value)) return "the state's '" + key + "' differs";
    }
    return "";
}

PrecisionState state_of(const PolicyEntries& entries) {
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
    PolicySubject subject(one, findings), other(one, findings);
    const auto before = declared(subject.policy(), findings);
    expect_same(before, declared(other.policy(), findings), "from another component of the same request",
                findings);
    subject.step(0, false);
    expect_same(before, declared(subject.policy(), findings), "after a step", findings);
    subject.step(1, true);
    expect_same(before, declared(subject.policy(), findings), "after a step with a non-finite gradient",
                findings);
}

void check_loss_scale(const PolicyCase& one, Findings& findings) {
    PolicySubject subject(one, findings);
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
    PolicySubject subject(one, findings);
    if (!subject.quantizes()) return;
    const auto check = [&](std::int64_t number, const std::string& when) {
        const Quantized made = subject.train(number);
        if (made.refused) return;
        check_inputs(when, subject.data(number), made, "stale_state", findings);
        check_gradients(when, subject.data(number), {}, made, "stale_state", findings);
    };
    for (std::int64_t step = 0; step < 3 && !findings.any(); ++step) {
        subject.policy().begin_step();
        for (std::int64_t micro_batch = 0; micro_batch < 2; ++micro_batch) {
            check(2 * step + micro_batch, "step " + std::to_string(step + 1) + ", micro-batch " +
                                              std::to_string(micro_batch + 1) + ": ");
        }
        subject.policy().end_step();
        subject.policy().update(false);
        const at::NoGradGuard no_grad;
        // The second time past autograd's version counter, as an optimizer's kernel writes.
        (step == 0 ? subject.weight_OI : subject.weight_OI.variable_data()).mul_(-0.5);
    }
    subject.policy().begin_step();
    check(7, "in a fourth step: ");
    subject.policy().end_step();
}

void check_recompute(const PolicyCase& one, Findings& findings) {
    PolicySubject subject(one, findings);
    subject.step(0, false);
    subject.policy().begin_step();
    Quantized first, again;
    if (subject.quantizes()) first = subject.train(5);
    const PolicyEntries before = entries_of(subject.policy().state(), findings);
    subject.policy().set_recompute(true);
    if (subject.quantizes()) again = subject.train(5);
    const PolicyEntries after = entries_of(subject.policy().state(), findings);
    subject.policy().set_recompute(false);
    subject.policy().end_step();
    if (!same_bits(first, again))
        findings.add("wrong_policy", "operands of a recomputed call have other bits than the first's");
    const std::string changed = difference(after, before);
    if (!changed.empty()) findings.add("wrong_policy", "a recomputed call: " + changed);
}

void check_policy_state(const PolicyCase& one, Findings& findings) {
    PolicySubject first(one, findings);
    for (std::int64_t step = 0; step < 4; ++step) first.step(step, step == 2);
    const PolicyEntries handed_over = entries_of(first.policy().state(), findings);
    if (findings.any()) return;
    PolicySubject second(one, findings);
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
        if (first.quantizes() && !same_bits(second.forward(50), first.forward(50)))
            return findings.add("wrong_state", when + "operands have other bits than the first component's");
        for (PolicySubject* one_of_both : {&first, &second}) one_of_both->step(step, step == 5);
    }
    const std::string state = difference(entries_of(second.policy().state(), findings),
                                         entries_of(first.policy().state(), findings));
    if (!state.empty()) findings.add("wrong_state", "after load and further steps: " + state);
}

}  // namespace switchyard::conformance
