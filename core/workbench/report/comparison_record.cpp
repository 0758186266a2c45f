#include "core/workbench/report/comparison_record.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernel/base/executed_text.h"
#include "core/workbench/report/record_json.h"
#include "core/workbench/report/record_parts.h"

namespace switchyard::report {
namespace {

bool flag(const Json& object, const char* key) {
    const Json& value = member(object, key);
    return value.is_boolean() && value.get<bool>();
}

// As many as the list has: NaN for what is no number.
std::vector<double> numbers(const Json& list) {
    std::vector<double> values;
    for (const auto& value : list.is_array() ? list : Json::array())
        values.push_back(value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN());
    return values;
}

void read_blocks(const Json& list, ArmRecord& arm) {
    double block = 0.0;
    for (const auto& value : list.is_array() ? list : Json::array()) {
        block += 1.0;
        const auto ms = number_of(value, "step_ms");
        if (ms) (flag(value, "outlier") ? arm.outliers : arm.blocks).push_back({block, *ms});
    }
}

ArmRecord arm_of(const Json& json) {
    ArmRecord arm;
    arm.name = text_of(json, "name");
    arm.status = text_of(json, "status");
    arm.ok = arm.status == "ok";
    arm.reason = text_of(json, "reason");
    arm.what = text_of(json, "what");
    arm.dtype = text_of(json, "dtype");
    arm.ran = base::executed_text(member(json, "executed"));
    for (const auto& text : member(json, "differs")) arm.differs.push_back(shown(text));
    arm.step_ms = interval_of(json, "step_ms");
    arm.samples_per_second = number_of(json, "samples_per_second");
    arm.tokens_per_second = number_of(json, "tokens_per_second");
    arm.peak_bytes = number_of(json, "peak_memory_bytes");
    const Json& drift = member(json, "drift");
    arm.drift_loss = number_of(drift, "loss");
    arm.drift_output = number_of(drift, "output");
    arm.drift_gradient = number_of(drift, "gradient");
    arm.allowed_output = number_of(member(json, "drift_allowed"), "output");
    arm.allowed_gradient = number_of(member(json, "drift_allowed"), "gradient");
    arm.skipped_steps = number_of(json, "skipped_steps");
    const Json& stability = member(json, "stability");
    arm.judged = stability.is_object();
    arm.loss_drift = number_of(stability, "loss_drift");
    arm.stability_reason = text_of(stability, "reason");
    if (member(stability, "stable").is_boolean()) arm.stable = flag(stability, "stable");
    arm.losses = over_steps(numbers(member(json, "losses")));
    for (const auto& seed : member(json, "seed_losses")) arm.seed_losses.push_back(over_steps(numbers(seed)));
    arm.final_losses = finite(numbers(member(json, "final_losses")));
    read_blocks(member(json, "blocks"), arm);
    return arm;
}

PairRecord pair_of(const Json& json) {
    PairRecord pair;
    pair.base = text_of(json, "base");
    pair.arm = text_of(json, "arm");
    pair.verdict = text_of(json, "verdict");
    pair.sentence = text_of(json, "sentence");
    pair.speedup = interval_of(json, "speedup");
    const Json& loss = member(json, "loss");
    pair.loss_verdict = text_of(loss, "verdict");
    pair.loss_reason = text_of(loss, "reason");
    pair.loss_difference = number_of(loss, "difference");
    pair.loss_low = number_of(loss, "low");
    pair.loss_high = number_of(loss, "high");
    return pair;
}

}  // namespace

std::optional<double> if_finite(double value) {
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::vector<double> finite(std::vector<double> values) {
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    return values;
}

Points over_steps(const std::vector<double>& values) {
    Points points;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isfinite(values[i])) points.push_back({static_cast<double>(i + 1), values[i]});
    }
    return points;
}

std::string margin_text(double size, bool relative) {
    return relative ? page_number(size * 100.0) + " %" : page_number(size);
}

StackTimes stack_times(const ComparisonRecord& comparison, const std::string& file) {
    StackTimes times;
    times.file = file;
    times.whole_runs = true;
    times.what = comparison.title;
    times.host = comparison.host;
    times.command = comparison.command;
    times.base = comparison.pairs.empty() ? comparison.arms.front().name : comparison.pairs.front().base;
    for (const auto& arm : comparison.arms) {
        StackRow row;
        row.name = arm.name;
        row.details = arm.dtype;
        row.ran = arm.ran.empty() ? arm.what : arm.ran;
        row.message = arm.reason;
        row.is_base = arm.name == times.base;
        row.ms = arm.step_ms;
        row.memory_bytes = arm.peak_bytes;
        for (const auto& pair : comparison.pairs) {
            if (pair.arm != arm.name) continue;
            row.verdict = pair.verdict;
            row.speedup = pair.speedup;
        }
        times.rows.push_back(std::move(row));
    }
    return times;
}

bool is_comparison(const std::string& text) {
    const Json json = base::parse_json(text).value;
    return json.is_object() && json.contains("arms") && json.contains("pairs");
}

ComparisonRecord read_comparison(const std::string& text, const std::string& file) {
    const Json json = parse_object(text, file);
    const Json& arms = member(json, "arms");
    const auto objects = [](const Json& list) {
        return list.is_array() &&
               std::all_of(list.begin(), list.end(), [](const Json& one) { return one.is_object(); });
    };
    if (!objects(arms) || arms.empty() || !objects(member(json, "pairs")))
        throw InputError(
            file + ": error: \"arms\" is no list of arms; expected what `switchyard compare --json` writes");
    ComparisonRecord record;
    for (const auto& arm : arms) record.arms.push_back(arm_of(arm));
    for (const auto& pair : member(json, "pairs")) record.pairs.push_back(pair_of(pair));
    record.title = text_of(json, "title");
    record.command = text_of(json, "command");
    record.host = host_facts(member(json, "host"));
    const Json& margin = member(json, "loss_margin");
    if (const auto size = number_of(margin, "size"))
        record.margin = margin_text(*size, flag(margin, "relative"));
    record.loss_steps = number_of(json, "loss_steps").value_or(0.0);
    record.stopped = flag(json, "stopped");
    for (const auto& [key, text] :
         {std::pair("config", &record.config), std::pair("config_fingerprint", &record.config_fingerprint),
          std::pair("blocks", &record.blocks), std::pair("steps_per_block", &record.steps_per_block),
          std::pair("lead_in_steps", &record.lead_in_steps),
          std::pair("warm_up_steps", &record.warm_up_steps), std::pair("seed", &record.seed)})
        *text = shown(member(json, key));
    return record;
}

}  // namespace switchyard::report
