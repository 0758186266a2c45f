#include "core/workbench/cli/compare_record.h"

#include "core/kernel/base/executed_text.h"
#include "core/workbench/compare/experiment/comparison_report.h"

namespace switchyard::cli {
namespace {

using report::if_finite;

// The bounds of a single sample are not known: then it stands alone.
std::optional<base::Interval> if_finite(const base::Interval& interval) {
    if (!if_finite(interval.median)) return std::nullopt;
    return base::Interval{interval.median, if_finite(interval.low).value_or(interval.median),
                          if_finite(interval.high).value_or(interval.median)};
}

report::ArmRecord arm_record(const compare::ArmResult& arm) {
    report::ArmRecord record;
    record.name = arm.spec.name;
    record.status = name(arm.status);
    record.reason = arm.reason;
    record.what = arm.what;
    record.dtype = arm.dtype;
    record.ran = base::executed_text(arm.executed);
    record.differs = arm.spec.differs;
    record.ok = arm.ok();
    if (arm.ok()) {
        record.step_ms = if_finite(arm.step_ms);
        record.samples_per_second = if_finite(arm.samples_per_second);
        record.tokens_per_second = if_finite(arm.tokens_per_second);
    }
    if (arm.peak_memory_bytes >= 0) record.peak_bytes = static_cast<double>(arm.peak_memory_bytes);
    record.drift_loss = if_finite(arm.drift.loss);
    record.drift_output = if_finite(arm.drift.output);
    record.drift_gradient = if_finite(arm.drift.gradient);
    record.allowed_output = if_finite(arm.allowed.output);
    record.allowed_gradient = if_finite(arm.allowed.gradient);
    record.skipped_steps = static_cast<double>(arm.skipped_steps);
    record.judged = true;
    record.stable = arm.stability.stable;
    record.stability_reason = arm.stability.reason;
    record.loss_drift = if_finite(arm.stability.loss_drift);
    record.losses = report::over_steps(arm.losses);
    for (const auto& losses : arm.seed_losses) record.seed_losses.push_back(report::over_steps(losses));
    record.final_losses = report::finite(arm.final_losses);
    for (std::size_t i = 0; i < arm.blocks.size(); ++i) {
        const auto& block = arm.blocks[i];
        if (block && if_finite(block->sample.ms))
            (block->sample.outlier ? record.outliers : record.blocks)
                .push_back({static_cast<double>(i + 1), block->sample.ms});
    }
    return record;
}

report::PairRecord pair_record(const compare::Comparison& comparison, const compare::PairResult& pair) {
    report::PairRecord record;
    record.base = comparison.arms[pair.base].spec.name;
    record.arm = comparison.arms[pair.arm].spec.name;
    record.verdict = name(pair.verdict);
    record.sentence = compare::sentence(comparison, pair);
    record.speedup = if_finite(pair.speedup);
    if (!pair.loss) return record;
    record.loss_verdict = name(pair.loss->verdict);
    record.loss_reason = pair.loss->reason;
    record.loss_difference = if_finite(pair.loss->difference);
    record.loss_low = if_finite(pair.loss->low);
    record.loss_high = if_finite(pair.loss->high);
    return record;
}

}  // namespace

report::ComparisonRecord compare_record(const compare::Comparison& comparison) {
    report::ComparisonRecord record;
    for (const auto& arm : comparison.arms) record.arms.push_back(arm_record(arm));
    for (const auto& pair : comparison.pairs) record.pairs.push_back(pair_record(comparison, pair));
    if (comparison.margin)
        record.margin = report::margin_text(comparison.margin->size, comparison.margin->relative);
    record.loss_steps = static_cast<double>(comparison.loss_steps);
    record.stopped = comparison.stopped;
    record.blocks = std::to_string(comparison.blocks);
    record.steps_per_block = std::to_string(comparison.steps_per_block);
    record.lead_in_steps = std::to_string(comparison.lead_in);
    record.warm_up_steps = std::to_string(comparison.warm_up_steps);
    record.seed = std::to_string(comparison.seed);
    return record;
}

}  // namespace switchyard::cli
