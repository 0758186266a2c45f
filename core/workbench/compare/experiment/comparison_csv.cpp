// A comparison as rows for a table of other programs, one for each arm: docs/compare.md has the columns.
#include <nlohmann/json.hpp>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/json_text.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/report/csv_text.h"

namespace switchyard::compare {
namespace {

using CsvRow = nlohmann::ordered_json;

CsvRow or_null(bool known, const CsvRow& value) { return known ? value : CsvRow(nullptr); }

void add_bounds(CsvRow& row, const std::string& column, const base::Interval& interval, bool known) {
    row[column] = or_null(known, base::number_or_null(interval.median));
    row[column + "_low"] = or_null(known, base::number_or_null(interval.low));
    row[column + "_high"] = or_null(known, base::number_or_null(interval.high));
}

// Of the observed step's memory at its peak.
void add_parts(CsvRow& row, const std::optional<profile::ObservedStep>& observed) {
    for (std::size_t i = 0; i < profile::memory_classes; ++i)
        row[std::string(profile::memory_class_names[i]) + "_bytes"] =
            observed ? CsvRow(observed->memory.peak.parts[i]) : CsvRow(nullptr);
}

void add_pair(CsvRow& row, const Comparison& comparison, const PairResult* found) {
    const PairResult none;
    const bool known = found != nullptr;
    const auto& pair = known ? *found : none;
    row["base"] = or_null(known, comparison.arms[pair.base].spec.name);
    row["verdict"] = or_null(known, name(pair.verdict));
    add_bounds(row, "times_as_fast", pair.speedup, known);
    row["total_times_as_fast"] = or_null(known, base::number_or_null(pair.total_speedup));
    row["p"] = or_null(known, base::number_or_null(pair.p));
    row["p_corrected"] = or_null(known, base::number_or_null(pair.p_corrected));
    row["block_correlation"] = or_null(known, base::number_or_null(pair.correlation));
    row["verdict_reason"] = pair.reason;
    row["verdict_note"] = pair.note;
}

void add_final_loss(CsvRow& row, const std::optional<bench::EquivalenceResult>& found) {
    const bench::EquivalenceResult none;
    const bool known = found.has_value();
    const auto& loss = known ? *found : none;
    row["final_loss_verdict"] = or_null(known, name(loss.verdict));
    add_bounds(row, "final_loss_difference", {loss.difference, loss.low, loss.high}, known);
}

// Medians over the seeds.
void add_evaluations(CsvRow& row, const Comparison& comparison, const ArmResult& arm) {
    const auto median = [&](EvalMetric metric) {
        const auto value = median_of(arm.evaluations, metric);
        return value ? base::number_or_null(*value) : CsvRow(nullptr);
    };
    for (const auto metric : {EvalMetric::accuracy, EvalMetric::perplexity})
        row[std::string(name(metric))] = or_null(comparison.eval_metric == metric, median(metric));
    row["evaluation_loss"] = median(EvalMetric::loss);
    row["not_evaluated"] = arm.not_evaluated;
}

CsvRow row_of_arm(const Comparison& comparison, std::size_t at) {
    const auto& arm = comparison.arms[at];
    const auto* const pair = comparison.pair_with(at);
    CsvRow row{{"arm", arm.spec.name},
               {"status", name(arm.status)},
               {"reason", arm.reason},
               {"operation", name(comparison.operation)},
               {"set", base::joined(arm.spec.overrides, " ")},
               {"description", arm.description},
               {"dtype", arm.dtype},
               {"ranks", arm.spec.ranks},
               {"differs", base::joined(arm.spec.differs, "; ")},
               {"measured_before", arm.measured_before},
               {"timed_by", arm.by_coordinator ? "coordinator" : "arm"}};
    add_bounds(row, "step_ms", arm.step_ms, arm.ok());
    add_bounds(row, "prefill_ms", arm.prefill_ms.value_or(base::Interval{}), arm.prefill_ms.has_value());
    add_bounds(row, "decode_ms", arm.decode_ms.value_or(base::Interval{}), arm.decode_ms.has_value());
    row["samples_per_second"] = or_null(arm.ok(), base::number_or_null(arm.samples_per_second));
    row["tokens_per_second"] = or_null(arm.ok(), base::number_or_null(arm.tokens_per_second));
    row["start_up_ms"] = base::number_or_null(arm.start_up_ms);
    row["peak_memory_bytes"] = or_null(arm.peak_memory_bytes >= 0, arm.peak_memory_bytes);
    add_parts(row, arm.observed);
    row["flops_per_second"] = base::number_or_null(comparison.flops_per_second(at));
    add_pair(row, comparison, pair);
    row["first_step_loss_drift"] = base::number_or_null(arm.drift.loss);
    row["first_step_output_drift"] = base::number_or_null(arm.drift.output);
    row["first_step_gradient_drift"] = base::number_or_null(arm.drift.gradient);
    row["same_tokens"] = base::number_or_null(arm.same_tokens);
    row["stable"] = arm.stability.stable ? CsvRow(*arm.stability.stable) : CsvRow(nullptr);
    row["stability_reason"] = arm.stability.reason;
    row["loss_drift"] = base::number_or_null(arm.stability.loss_drift);
    row["skipped_steps"] = arm.skipped_steps;
    add_final_loss(row, pair != nullptr ? pair->loss : std::nullopt);
    add_evaluations(row, comparison, arm);
    row["outliers"] = arm.outliers;
    return row;
}

}  // namespace

std::string to_csv(const Comparison& comparison) {
    std::vector<CsvRow> rows;
    for (std::size_t at = 0; at < comparison.arms.size(); ++at) rows.push_back(row_of_arm(comparison, at));
    return report::csv_text(rows);
}

}  // namespace switchyard::compare
