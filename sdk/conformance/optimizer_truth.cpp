#include <switchyard/conformance/optimizer_truth.h>

#include <algorithm>
#include <map>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>

#include <switchyard/interfaces/torch_types.h>

namespace switchyard::conformance {
namespace {

constexpr std::int64_t nudged_steps = 5;
constexpr double nudge = 1e-6;

// float64 has no wider oracle: its errors are taken to be float32's, scaled by the ratio of their units.
bool is_double(const OptimizerSpec& spec) { return spec.dtype == DType::float64; }

std::optional<at::ScalarType> width_of_reference(const OptimizerSpec& spec) {
    if (is_double(spec)) return at::kFloat;
    return std::nullopt;
}

OptimizerState copy_of(const OptimizerState& state) {
    OptimizerState copy = state;
    for (OptimizerStateEntry& entry : copy.entries) entry.value = entry.value.clone();
    return copy;
}

}  // namespace

ReferenceRun::ReferenceRun(const OptimizerSpec& spec, std::uint64_t seed,
                           std::optional<at::ScalarType> widened)
    : problem(make_problem(spec, seed, at::kCPU)), steps(spec.algorithm) {
    if (widened) widen(problem, *widened);
    steps.bind(problem.groups);
}

double ReferenceRun::step(std::int64_t t, double nudge_by) {
    set_gradients(problem, t);
    for (Parameter* parameter : parameters_of(problem.groups)) {
        at::Tensor& gradient = parameter->gradient;
        if (nudge_by == 0.0 || !gradient.defined()) continue;
        const auto chance = seed_of(parameter->name, problem.seed + 1000 + static_cast<std::uint64_t>(t));
        const at::Tensor up_or_down = bell(gradient.sizes(), chance).sign().to(gradient.options());
        gradient = gradient * (up_or_down * nudge_by + 1.0);
    }
    return steps.step(problem.groups, problem.params).grad_norm.item<double>();
}

void ReferenceRun::set_counted(std::int64_t counted) {
    OptimizerState state = copy_of(steps.state());
    state.step = counted;
    steps.load(state);
}

// Where rounding decides what comes out, a value is left out from then on. It happens in two ways.
//
// adam's g / (|g| + eps) where the decay that is added to a gradient cancels it down to about eps, in the
// first steps, before there is a history to divide by. How much a value does so is measured: it moves by S *
// nudge when the gradients of the first steps are off by `nudge` of themselves. Until decay is added, a
// gradient is the product of at most 8 roundings, so off by 8 u of itself (Higham, Accuracy and Stability of
// Numerical Algorithms, 2nd ed., lemma 3.1): the norm and its root, the bound's sum and quotient, the factor,
// unscaling, and the product with it. The decay's own product is rounded like it where the two cancel. So
// adam makes 8 u S of it, which may be half of what the judge gives for nothing, 4 u max|w| (tolerance.h): a
// value with S > max|w| / 4 is left out. The other half is for the roundings of w itself. That holds in every
// dtype, since u cancels.
//
// lion's sign of a sum beta1 m + (1 - beta1) g near 0, which jumps by twice the rate. m is a sum of gradients
// that are off by 8 u each, weighted like a geometric series, so it is off by less than 8 u of the sum of
// their sizes, and by chance by a few u of its own size; the sum is rounded three times more. Where it is
// below 32 u of the sum of the sizes of its two terms, with float32's u, it is left out: about 1 in 10^6
// values a step.
OptimizerTruth::OptimizerTruth(const OptimizerSpec& spec, std::uint64_t seed)
    : spec_(spec), oracle_(spec, seed, at::kDouble), reference_(spec, seed, width_of_reference(spec)) {
    if (spec.algorithm == OptimizerKind::adam) {
        for (int i = 0; i < 2; ++i) nudged_.emplace_back(spec, seed, at::kDouble);
    }
    if (spec.algorithm != OptimizerKind::muon && spec.algorithm != OptimizerKind::lamb) return;
    // All values of a matrix err together - muon's by its iteration, lamb's by the ratio of their norms -,
    // and there are few matrices: how much the reference errs is a matter of chance, which several runs
    // take out, as for tensors of few values (expected.cpp).
    for (const double scale : {0.9, 1.1, 1.2}) {
        OptimizerSpec scaled = spec;
        scaled.gradient *= scale;
        other_oracles_.emplace_back(scaled, seed, at::kDouble);
        other_references_.emplace_back(scaled, seed, width_of_reference(spec));
    }
}

void OptimizerTruth::step(std::int64_t t) {
    const bool by_sign = spec_.algorithm == OptimizerKind::lion;
    const OptimizerState before = by_sign ? copy_of(oracle_.steps.state()) : OptimizerState{};
    norm_ = oracle_.step(t);
    reference_.step(t);
    for (ReferenceRun& run : other_oracles_) run.step(t);
    for (ReferenceRun& run : other_references_) run.step(t);
    if (by_sign) find_signs_of_nothing(before);
    if (!nudged_.empty()) step_nudged(t);
    if (t != 0 || spec_.counted_steps == 0) return;
    oracle_.set_counted(spec_.counted_steps);
    reference_.set_counted(spec_.counted_steps);
    for (auto* runs : {&nudged_, &other_oracles_, &other_references_}) {
        for (ReferenceRun& run : *runs) run.set_counted(spec_.counted_steps);
    }
}

void OptimizerTruth::step_nudged(std::int64_t t) {
    const at::Tensor right = oracle_.targets();
    const double allowed = nudge * spread_of(right).largest / 4.0;
    double by = t < nudged_steps ? nudge : 0.0;
    for (ReferenceRun& run : nudged_) {
        run.step(t, by);
        by = -by;
        const at::Tensor moved = (run.targets() - right).abs().gt(allowed);
        unstable_ = unstable_.defined() ? unstable_.logical_or(moved) : moved;
    }
    if (t >= 4 * nudged_steps) nudged_.clear();
}

void OptimizerTruth::find_signs_of_nothing(const OptimizerState& before) {
    std::map<std::string, at::Tensor> moments;
    for (const OptimizerStateEntry& entry : before.entries) moments[entry.parameter] = entry.value;
    std::map<std::string, at::Tensor> moments_after;
    for (const OptimizerStateEntry& entry : oracle_.steps.state().entries)
        moments_after[entry.parameter] = entry.value;
    std::vector<at::Tensor> flat;
    for (const ParameterGroup& group : oracle_.problem.groups) {
        const HyperParameters& hyper = group.hyper;
        for (const Parameter& parameter : group.parameters) {
            // m' = beta2 m + (1 - beta2) g, so that g is the one that was clipped and unscaled.
            const at::Tensor m = moments.at(parameter.name) * hyper.beta1;
            const at::Tensor g =
                (moments_after.at(parameter.name) - moments.at(parameter.name) * hyper.beta2) *
                ((1.0 - hyper.beta1) / (1.0 - hyper.beta2));
            const at::Tensor size = m.abs() + g.abs();
            const at::Tensor nothing =
                (m + g).abs().lt(size * (32.0 * unit_roundoff(at::kFloat))).logical_and(size.gt(0.0));
            flat.push_back(nothing.reshape({-1}));
        }
    }
    const at::Tensor all = at::cat(flat);
    unstable_ = unstable_.defined() ? unstable_.logical_or(all) : all;
}

Spread OptimizerTruth::error_of(ReferenceRun& reference, ReferenceRun& oracle) const {
    const double unit_ratio = is_double(spec_) ? unit_roundoff(at::kDouble) / unit_roundoff(at::kFloat) : 1.0;
    const at::Tensor right = oracle.targets();
    at::Tensor found = reference.targets();
    if (unstable_.defined()) found = at::where(unstable_, right, found);
    const Spread error = spread_of(found, right);
    return {error.rms * unit_ratio, error.largest * unit_ratio};
}

Spread OptimizerTruth::error() {
    Spread worst = error_of(reference_, oracle_);
    for (std::size_t i = 0; i < other_oracles_.size(); ++i) {
        const Spread error = error_of(other_references_[i], other_oracles_[i]);
        worst = {std::max(worst.rms, error.rms), std::max(worst.largest, error.largest)};
    }
    return worst;
}

}  // namespace switchyard::conformance
