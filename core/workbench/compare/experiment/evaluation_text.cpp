// What arms found on held-out samples, as a comparison's text has it.
#include <algorithm>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/workbench/bench/measure/text_table.h"
#include "core/workbench/compare/experiment/comparison_report.h"

namespace switchyard::compare {
namespace {

using Align = bench::TextTable::Align;

std::string score_text(const std::optional<double>& value) { return value ? base::digits(*value, 4) : "-"; }

std::string one_of(const std::vector<double>& values, bool largest) {
    if (values.empty()) return "-";
    return score_text(largest ? *std::ranges::max_element(values) : *std::ranges::min_element(values));
}

// The first evaluation that there is: all arms have the same samples.
const Evaluation* any_evaluation(const Comparison& comparison) {
    for (const auto& arm : comparison.arms) {
        for (const auto& evaluation : arm.evaluations) {
            if (evaluation) return &*evaluation;
        }
    }
    return nullptr;
}

}  // namespace

std::vector<Alike> reasons_without_evaluation(const Comparison& comparison) {
    std::vector<Alike> reasons;
    for (const auto& arm : comparison.arms)
        if (arm.ok() && !arm.not_evaluated.empty()) add_alike(reasons, arm.spec.name, arm.not_evaluated);
    return reasons;
}

std::string evaluation_note(const Comparison& comparison) {
    const auto* const evaluation = any_evaluation(comparison);
    if (evaluation == nullptr) return "";
    std::string text = "Medians over " + base::counted(static_cast<std::size_t>(comparison.seeds), "seed") +
                       ", each after " + std::to_string(comparison.loss_steps) + " steps, on the same " +
                       base::counted(static_cast<std::size_t>(evaluation->samples), "held-out sample") +
                       " in all arms.";
    const auto share = value_of(*evaluation, EvalMetric::accuracy);
    if (comparison.eval_metric == EvalMetric::accuracy && share)
        text += " A share of " + base::digits(*share) + " of " + std::to_string(evaluation->labels) +
                " labels has a standard error of " +
                base::digits(standard_error(*share, evaluation->labels), 2) +
                ", so that differences of that size may be chance.";
    return text;
}

std::string evaluation_text(const Comparison& comparison) {
    constexpr std::size_t line = 100;
    const auto metric = comparison.eval_metric;
    const bool beside_loss = metric != EvalMetric::loss;
    std::vector<bench::TextTable::Column> columns{
        {"evaluation", Align::left}, {std::string(name(metric))}, {"lowest"}, {"highest"}};
    if (beside_loss) columns.push_back({"loss"});
    columns.push_back({"labels"});
    bench::TextTable table(columns);
    for (const auto& arm : comparison.arms) {
        const auto& found = arm.evaluations;
        const auto some = std::ranges::find_if(found, [](const auto& one) { return one.has_value(); });
        if (some == found.end()) continue;
        const auto values = values_of(found, metric);
        std::vector<std::string> cells{arm.spec.name, score_text(median_of(found, metric)),
                                       one_of(values, false), one_of(values, true)};
        if (beside_loss) cells.push_back(score_text(median_of(found, EvalMetric::loss)));
        cells.push_back(std::to_string((*some)->labels));
        table.row(cells);
    }
    const auto paragraph = [](const std::string& text) {
        return "  " + bench::wrap(text, line - 6, "      ") + "\n";
    };
    std::string text;
    if (const auto note = evaluation_note(comparison); !note.empty())
        text = table.render("  ", line) + paragraph(note);
    for (const auto& [reason, arms] : reasons_without_evaluation(comparison))
        text += paragraph("not evaluated: " + base::joined(arms) + ": " + reason);
    return text.empty() ? "" : "\n" + text;
}

}  // namespace switchyard::compare
