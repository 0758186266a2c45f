#include <switchyard/conformance/optimizer_part_checks.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include <switchyard/interfaces/sharded_optimizer.h>

namespace switchyard::conformance {
namespace {

constexpr std::size_t shares = 2;

ShardedOptimizer* sharded(Binding& binding) {
    auto* const optimizer = static_cast<Optimizer*>(binding.interface());
    return static_cast<ShardedOptimizer*>(optimizer->query(sharded_optimizer_interface));
}

Optimizer& optimizer_of(Binding& binding) { return *static_cast<Optimizer*>(binding.interface()); }

at::Tensor part_of(const at::Tensor& whole, const ParameterPart& part, std::int64_t count) {
    if (!whole.defined() || count == whole.numel()) return whole;
    return whole.reshape({-1}).narrow(0, part.begin, count);
}

// One share of the values of all parameters, with a component of its own.
struct Share {
    Share(const Findings& findings, const std::shared_ptr<const OptimizerRequest>& request)
        : binding(findings.component(), request) {}

    // Of the parameter with that number, of the group that `groups` ends with.
    void add(const Parameter& parameter, std::int64_t index, std::int64_t begin, std::int64_t count) {
        if (count == 0 && parameter.value.numel() > 0) return;
        const ParameterPart part{index, begin, parameter.value.numel()};
        groups.back().parameters.push_back({parameter.name, part_of(parameter.value, part, count),
                                            at::Tensor(), part_of(parameter.master, part, count)});
        parts.push_back(part);
    }
    void take_gradients(const std::vector<Parameter*>& all) {
        std::size_t number = 0;
        for (ParameterGroup& group : groups) {
            for (Parameter& own : group.parameters) {
                const ParameterPart& part = parts[number++];
                own.gradient =
                    part_of(all[static_cast<std::size_t>(part.index)]->gradient, part, own.value.numel());
            }
        }
    }

    Binding binding;
    std::vector<ParameterGroup> groups;
    std::vector<ParameterPart> parts;
};

// Parameters that are long enough are cut near their middle, others go to one share after the other.
void divide(OptimizerProblem& problem, std::int64_t alignment, std::array<Share, shares>& all) {
    std::int64_t index = 0;
    for (const ParameterGroup& group : problem.groups) {
        for (Share& share : all) share.groups.push_back({group.name, group.hyper, {}});
        for (const Parameter& parameter : group.parameters) {
            const std::int64_t n = parameter.value.numel();
            const bool cut = alignment > 0 && n > alignment;
            const std::int64_t middle = cut              ? std::max(alignment, n / 2 / alignment * alignment)
                                        : index % 2 == 0 ? n
                                                         : 0;
            if (middle > 0 || (n == 0 && index % 2 == 0)) all[0].add(parameter, index, 0, middle);
            if (middle < n || (n == 0 && index % 2 != 0)) all[1].add(parameter, index, middle, n - middle);
            ++index;
        }
    }
    for (Share& share : all)
        std::erase_if(share.groups, [](const ParameterGroup& group) { return group.parameters.empty(); });
}

using Entries = std::map<std::pair<std::string, std::string>, at::Tensor>;

// Entries of parts end to end, flat.
Entries joined_entries(std::array<Share, shares>& all) {
    Entries entries;
    for (Share& share : all) {
        for (const OptimizerStateEntry& entry : optimizer_of(share.binding).state().entries) {
            at::Tensor& joined = entries[{entry.parameter, entry.key}];
            const at::Tensor flat = entry.value.reshape({-1});
            joined = joined.defined() ? at::cat({joined, flat}) : flat;
        }
    }
    return entries;
}

// The same bits on a CPU. On a device a kernel may take other instructions for values that begin elsewhere:
// a fused multiply-add or two roundings, of numbers as large as any of the tensor.
bool same(const at::Tensor& a, const at::Tensor& b) {
    if (a.is_cpu() || a.equal(b)) return a.equal(b);
    const at::Tensor exact = b.to(at::kDouble);
    const double unit = std::numeric_limits<float>::epsilon() * exact.abs().max().item<double>();
    return (a.to(at::kDouble) - exact).abs().max().item<double>() <= 4.0 * unit;
}

std::string different_state(const OptimizerState& whole, std::array<Share, shares>& all) {
    for (Share& share : all) {
        const auto step = optimizer_of(share.binding).state().step;
        if (step != whole.step)
            return "the state of a part counts " + std::to_string(step) + " steps, expected " +
                   std::to_string(whole.step);
    }
    const Entries entries = joined_entries(all);
    if (entries.size() != whole.entries.size()) return "the states of the parts have other entries";
    for (const OptimizerStateEntry& entry : whole.entries) {
        const auto found = entries.find({entry.parameter, entry.key});
        const std::string who = "state entry '" + entry.key + "' of '" + entry.parameter + "'";
        if (found == entries.end()) return who + " is missing in the parts";
        if (!same(found->second, entry.value.reshape({-1}))) return who + " differs, of its parts end to end";
    }
    return "";
}

// A clipped step knows the norm as float32 here, where the component took its own.
bool nearly_equal(const at::Tensor& a, const at::Tensor& b) {
    if (a.numel() == 0) return true;
    const at::Tensor off = (a.to(at::kDouble) - b.to(at::kDouble)).abs();
    return (off <= b.to(at::kDouble).abs() * 1e-5 + 1e-6).all().item<bool>();
}

}  // namespace

void check_parts(const OptimizerSpec& spec, const std::shared_ptr<const OptimizerRequest>& request,
                 std::uint64_t seed, at::Device device, Findings& findings) {
    Binding whole(findings.component(), request);
    if (sharded(whole) == nullptr) return;
    OptimizerProblem problem = make_problem(spec, seed, device), cut = make_problem(spec, seed, device);
    std::array<Share, shares> all{Share{findings, request}, Share{findings, request}};
    const std::int64_t alignment = sharded(all[0].binding)->part_alignment();
    if (alignment < 0) return findings.add("wrong_parts", "part_alignment is " + std::to_string(alignment));
    divide(cut, alignment, all);
    optimizer_of(whole).bind(problem.groups);
    for (Share& share : all) sharded(share.binding)->bind_parts(share.groups, share.parts);

    const auto expected = parameters_of(problem.groups), found = parameters_of(cut.groups);
    for (std::int64_t t = 0; t < spec.steps; ++t) {
        const std::string step = "step " + std::to_string(t + 1) + ": ";
        set_gradients(problem, t);
        set_gradients(cut, t);
        const StepResult result = optimizer_of(whole).step(problem.groups, problem.params);
        const double norm = result.grad_norm.defined() ? result.grad_norm.item<double>() : 0.0;
        for (Share& share : all) {
            share.take_gradients(found);
            const StepResult made = sharded(share.binding)->step_parts(share.groups, cut.params, norm);
            findings.check_executed(share.binding);
            if (made.found_inf.defined() && made.found_inf.item<double>() != 0.0)
                findings.add("wrong_parts", step + "found_inf is not 0, but all gradients are finite");
            if (made.grad_norm.defined() && made.grad_norm.item<float>() != static_cast<float>(norm))
                findings.add("wrong_parts", step + "grad_norm is not the norm that was given");
        }
        for (std::size_t i = 0; i < found.size(); ++i) {
            const bool alike = spec.max_grad_norm > 0.0 ? nearly_equal(found[i]->value, expected[i]->value)
                                                        : same(found[i]->value, expected[i]->value);
            if (!alike)
                return findings.add(
                    "wrong_parts",
                    step + found[i]->name + " is not what the step of whole parameters makes of it");
        }
    }
    if (spec.max_grad_norm > 0.0) return;
    const std::string difference = different_state(optimizer_of(whole).state(), all);
    if (!difference.empty()) findings.add("wrong_parts", difference);
}

}  // namespace switchyard::conformance
