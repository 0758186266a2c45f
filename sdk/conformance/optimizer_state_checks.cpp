#include <switchyard/conformance/optimizer_state_checks.h>

#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>

namespace switchyard::conformance {
namespace {

using Entries = std::map<std::pair<std::string, std::string>, at::Tensor>;

Entries entries_of(const OptimizerState& state) {
    Entries entries;
    for (const OptimizerStateEntry& entry : state.entries)
        entries[{entry.parameter, entry.key}] = entry.value;
    return entries;
}

std::string label(const std::string& parameter, const std::string& key) {
    return "state entry '" + key + "' of '" + parameter + "'";
}

// A component with a problem of its own.
struct Subject {
    Subject(const OptimizerSpec& spec, const std::shared_ptr<const OptimizerRequest>& request,
            std::uint64_t seed, at::Device device, const Findings& findings)
        : problem(make_problem(spec, seed, device)), binding(findings.component(), request) {
        optimizer().bind(problem.groups);
    }
    Optimizer& optimizer() { return *static_cast<Optimizer*>(binding.interface()); }
    void run(std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
            set_gradients(problem, t);
            optimizer().step(problem.groups, problem.params);
        }
    }

    OptimizerProblem problem;
    Binding binding;
};

// "" where all parameters are bit-equal.
std::string different_parameter(Subject& found, Subject& expected) {
    const auto a = parameters_of(found.problem.groups), b = parameters_of(expected.problem.groups);
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!a[i]->value.equal(b[i]->value)) return a[i]->name;
        if (a[i]->master.defined() && !a[i]->master.equal(b[i]->master)) return a[i]->name + " (master)";
    }
    return "";
}

void check_form(const OptimizerSpec& spec, Subject& subject, std::int64_t steps, Findings& findings) {
    const OptimizerState state = subject.optimizer().state();
    const std::string algorithm = formula_name(spec.algorithm, spec.custom);
    if (state.algorithm != algorithm) {
        findings.add("wrong_state",
                     "the state's algorithm is '" + state.algorithm + "', expected '" + algorithm + "'");
    }
    if (state.step != steps) {
        findings.add("wrong_state", "the state counts " + std::to_string(state.step) + " steps, expected " +
                                        std::to_string(steps));
    }
    std::set<std::string> names;
    for (const Parameter* parameter : parameters_of(subject.problem.groups)) names.insert(parameter->name);
    std::set<std::pair<std::string, std::string>> seen;
    for (const OptimizerStateEntry& entry : state.entries) {
        const std::string who = label(entry.parameter, entry.key);
        if (names.count(entry.parameter) == 0) findings.add("wrong_state", who + " is of no parameter");
        if (!seen.insert({entry.parameter, entry.key}).second)
            findings.add("wrong_state", who + " is there twice");
        if (!entry.value.defined()) findings.add("wrong_state", who + " is undefined");
    }
}

// The text of what the call threw; adds a fault where it threw nothing, or something else than
// std::invalid_argument.
void expect_refusal(const char* code, const std::string& what, Findings& findings,
                    const std::function<void()>& call) {
    try {
        call();
    } catch (const std::invalid_argument&) {
        return;
    } catch (...) {
        return findings.add(code, what + " must be refused with std::invalid_argument, but threw " +
                                      current_exception_text());
    }
    findings.add(code, what + " must be refused with std::invalid_argument, but was taken");
}

}  // namespace

OptimizerState cloned(const OptimizerState& state) {
    OptimizerState copy = state;
    for (OptimizerStateEntry& entry : copy.entries) {
        if (entry.value.defined()) entry.value = entry.value.clone();
    }
    return copy;
}

std::string difference_of(const OptimizerState& found, const OptimizerState& expected) {
    if (found.step != expected.step) {
        return "the step count is " + std::to_string(found.step) + ", expected " +
               std::to_string(expected.step);
    }
    const Entries a = entries_of(found), b = entries_of(expected);
    if (a.size() != b.size()) return "the state has another number of entries";
    for (const auto& [place, value] : b) {
        const auto other = a.find(place);
        const std::string who = label(place.first, place.second);
        if (other == a.end()) return who + " is gone";
        if (!other->second.defined() || !value.defined() || !other->second.equal(value))
            return who + " differs";
    }
    return "";
}

void check_continuation(const OptimizerSpec& spec, const std::shared_ptr<const OptimizerRequest>& request,
                        std::uint64_t seed, at::Device device, Findings& findings) {
    constexpr std::int64_t half = 3;
    Subject first(spec, request, seed, device, findings), again(spec, request, seed, device, findings);
    first.run(0, half);
    findings.check_executed(first.binding);
    again.run(0, half);
    const std::string unequal = different_parameter(again, first);
    if (!unequal.empty()) return findings.add("nondeterministic", "two equal runs differ in " + unequal);
    check_form(spec, first, half, findings);
    if (findings.any()) return;

    // The parameters are those of `again`; the component is new.
    const OptimizerState handed_over = cloned(first.optimizer().state());
    const OptimizerState as_handed = cloned(handed_over);
    Subject second(spec, request, seed, device, findings);
    second.problem = std::move(again.problem);
    second.optimizer().load(handed_over);
    const std::string loaded = difference_of(second.optimizer().state(), as_handed);
    if (!loaded.empty()) return findings.add("wrong_state", "after load: " + loaded);
    first.run(half, spec.steps);
    second.run(half, spec.steps);
    const std::string parameter = different_parameter(second, first);
    if (!parameter.empty())
        findings.add("wrong_state",
                     "steps after load differ from those of the first component in " + parameter);
    const std::string state = difference_of(second.optimizer().state(), first.optimizer().state());
    if (!state.empty()) findings.add("wrong_state", "after load and further steps: " + state);
}

void check_bad_states(const OptimizerSpec& spec, const std::shared_ptr<const OptimizerRequest>& request,
                      std::uint64_t seed, at::Device device, Findings& findings) {
    Subject subject(spec, request, seed, device, findings);
    subject.run(0, 1);
    const OptimizerState good = cloned(subject.optimizer().state());
    const auto refused = [&](const std::string& what, const std::function<void(OptimizerState&)>& spoil) {
        OptimizerState bad = cloned(good);
        spoil(bad);
        expect_refusal("wrong_state", "a state with " + what, findings,
                       [&] { subject.optimizer().load(bad); });
        const std::string difference = difference_of(subject.optimizer().state(), good);
        if (!difference.empty())
            findings.add("wrong_state", "after the refusal of a state with " + what + ": " + difference);
    };
    refused("another algorithm", [](OptimizerState& s) { s.algorithm = "another", s.step = 9; });
    refused("an entry of an unknown parameter", [](OptimizerState& s) {
        s.step = 9;
        s.entries.push_back({"nobody", "exp_avg", at::ones({2})});
    });
    if (good.entries.empty()) return;
    refused("a missing entry", [](OptimizerState& s) {
        for (OptimizerStateEntry& entry : s.entries) entry.value = at::ones_like(entry.value);
        s.entries.pop_back();
    });
    refused("an entry of another shape", [](OptimizerState& s) {
        for (OptimizerStateEntry& entry : s.entries) entry.value = at::ones_like(entry.value);
        s.entries.back().value = at::ones({11, 3});
    });
}

void check_bad_parameters(const OptimizerSpec& spec, const std::shared_ptr<const OptimizerRequest>& request,
                          std::uint64_t seed, at::Device device, Findings& findings) {
    const auto refused = [&](const std::string& what,
                             const std::function<void(std::vector<ParameterGroup>&)>& spoil) {
        OptimizerProblem problem = make_problem(spec, seed, device);
        spoil(problem.groups);
        Binding binding(findings.component(), request);
        expect_refusal("accepted_invalid", what, findings,
                       [&] { static_cast<Optimizer*>(binding.interface())->bind(problem.groups); });
    };
    refused("a group without parameters", [](auto& groups) { groups[1].parameters.clear(); });
    refused("two parameters of one name",
            [](auto& groups) { groups[1].parameters[1].name = groups[0].parameters[0].name; });
    refused("a parameter of integers", [](auto& groups) {
        groups[0].parameters[1].value = groups[0].parameters[1].value.to(at::kLong);
    });
    refused("a sparse parameter",
            [](auto& groups) { groups[0].parameters[0].value = groups[0].parameters[0].value.to_sparse(); });
}

}  // namespace switchyard::conformance
