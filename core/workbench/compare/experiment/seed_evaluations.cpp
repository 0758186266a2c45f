#include "core/workbench/compare/experiment/seed_evaluations.h"

#include <cmath>
#include <string>

#include "core/kernel/base/printable.h"

namespace switchyard::compare {

std::string wrong_evaluation(const Evaluation& arm, const Evaluation& reference, bool external) {
    const auto reports = [](std::int64_t count, const char* what, std::int64_t expected) {
        return "it reports " + std::to_string(count) + " " + what +
               " for its evaluation; the held-out samples have " + std::to_string(expected);
    };
    if (arm.labels != reference.labels) return reports(arm.labels, "labels", reference.labels);
    if (!external && arm.samples != reference.samples)
        return reports(arm.samples, "samples", reference.samples);
    return "";
}

void SeedEvaluations::prepared(std::size_t at, const Ready& ready) {
    if (most_ == 0) return;
    auto& why = result_.arms[at].not_evaluated;
    evaluates_[at] = ready.evaluates;
    why = base::quoted(ready.not_evaluated);
    if (!ready.evaluates && why.empty()) why = "its answer to prepare has no \"evaluates\": true";
}

void SeedEvaluations::evaluate(std::size_t at, int seed) {
    if (most_ == 0) return;
    auto& arm = result_.arms[at];
    arm.evaluations.emplace_back();
    if (!evaluates_[at]) return;
    const auto when = "after seed " + std::to_string(seed + 1);
    const auto line = arms_.request(at, nlohmann::ordered_json::object({{"type", "evaluate"}}),
                                    "while it evaluated " + when);
    if (!line) return;
    const auto found = arms_.taken<Evaluation>(at, read_evaluation(*line, most_));
    if (!found) return;
    if (found->labels == 0) {
        arm.not_evaluated = "the held-out samples have no label";
        return;
    }
    if (!std::isfinite(found->loss))
        return arms_.end(at, ArmStatus::nan, "the loss of its evaluation " + when + " is not finite");
    constexpr double least_loss = -1e-3;  // of a cross-entropy, which is 0 at least but for its rounding
    if (result_.eval_metric == EvalMetric::perplexity && found->loss < least_loss)
        return arms_.end(
            at, ArmStatus::protocol_error,
            "it reports an evaluation " + when + " whose loss is below 0, as no cross-entropy is");
    arm.evaluations.back() = found;
}

void SeedEvaluations::check(int seed, std::size_t reference) {
    const auto number = static_cast<std::size_t>(seed);
    const auto of = [&](std::size_t at) -> const Evaluation* {
        const auto& arm = result_.arms[at];
        const bool there = arm.ok() && arm.spec.differs.empty() && arm.evaluations.size() > number;
        return there && arm.evaluations[number] ? &*arm.evaluations[number] : nullptr;
    };
    const Evaluation* held = of(reference);
    for (std::size_t at = 0; at < arms_.size() && held == nullptr; ++at) held = of(at);
    if (held == nullptr) return;
    const auto expected = *held;
    for (std::size_t at = 0; at < arms_.size(); ++at) {
        const auto* const own = of(at);
        if (own == nullptr) continue;
        const auto wrong = wrong_evaluation(*own, expected, result_.arms[at].spec.external());
        if (wrong.empty()) continue;
        result_.arms[at].evaluations[number].reset();
        arms_.end(at, ArmStatus::protocol_error, wrong);
    }
}

}  // namespace switchyard::compare
