#include <switchyard/report/comparison_record.h>

#include <algorithm>
#include <cmath>

#include <switchyard/report/record_json.h>
#include <switchyard/report/record_parts.h>

namespace switchyard::report {
namespace {

bool flag(const Json& object, const char* key) {
    const Json& value = member(object, key);
    return value.is_boolean() && value.get<bool>();
}

std::vector<double> numbers(const Json& list) {
    std::vector<double> values;
    for (const auto& value : list.is_array() ? list : Json::array()) {
        if (value.is_number()) values.push_back(value.get<double>());
    }
    return values;
}

Points over_steps(const Json& list) {
    Points points;
    double step = 0.0;
    for (const auto& value : list.is_array() ? list : Json::array()) {
        step += 1.0;
        if (value.is_number() && std::isfinite(value.get<double>()))
            points.push_back({step, value.get<double>()});
    }
    return points;
}

std::string ran_text(const Json& executed) {
    std::string text;
    if (!executed.is_object()) return text;
    for (const auto& [slot, rows] : executed.items()) {
        std::string list;
        for (const auto& row : rows.is_array() ? rows : Json::array()) {
            const auto phase = text_of(row, "phase"), component = text_of(row, "component"),
                       plugin = text_of(row, "plugin"), variant = text_of(row, "variant");
            if (!phase.empty() && phase != "train") continue;
            std::string one = plugin.empty() || plugin == component ? component : plugin + "/" + component;
            if (!variant.empty()) one += "@" + variant;
            if (!one.empty() && list.find(one) == std::string::npos)
                list += (list.empty() ? "" : " + ") + one;
        }
        if (!list.empty()) text += (text.empty() ? "" : ", ") + slot + " " + list;
    }
    return text;
}

void read_blocks(const Json& list, ArmRecord& arm) {
    double block = 0.0;
    for (const auto& value : list.is_array() ? list : Json::array()) {
        block += 1.0;
        const auto ms = number_of(value, "step_ms");
        if (ms) (flag(value, "spoilt") ? arm.spoilt : arm.blocks).push_back({block, *ms});
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
    arm.timed_outside = text_of(json, "timed_by") == "conductor";
    arm.ran = ran_text(member(json, "executed"));
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
    arm.losses = over_steps(member(json, "losses"));
    for (const auto& seed : member(json, "seed_losses")) arm.seed_losses.push_back(over_steps(seed));
    arm.final_losses = numbers(member(json, "final_losses"));
    read_blocks(member(json, "blocks"), arm);
    return arm;
}

PairRecord pair_of(const Json& json) {
    PairRecord pair{text_of(json, "base"),
                    text_of(json, "arm"),
                    text_of(json, "verdict"),
                    text_of(json, "sentence"),
                    interval_of(json, "speedup"),
                    number_of(json, "p"),
                    {},
                    {},
                    {},
                    {},
                    {}};
    const Json& loss = member(json, "loss");
    pair.loss_verdict = text_of(loss, "verdict");
    pair.loss_reason = text_of(loss, "reason");
    pair.loss_difference = number_of(loss, "difference");
    pair.loss_low = number_of(loss, "low");
    pair.loss_high = number_of(loss, "high");
    return pair;
}

std::string margin_text(const Json& margin) {
    const auto size = number_of(margin, "size");
    if (!size) return "";
    return flag(margin, "relative") ? digits(*size * 100.0) + " %" : digits(*size);
}

}  // namespace

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
    record.margin = margin_text(member(json, "loss_margin"));
    record.loss_steps = number_of(json, "loss_steps").value_or(0.0);
    record.forced = flag(json, "forced");
    record.stopped = flag(json, "stopped");
    for (const auto& [key, name] :
         {std::pair("config", "Configuration"), std::pair("config_fingerprint", "Its fingerprint"),
          std::pair("blocks", "Blocks"), std::pair("steps_per_block", "Timed steps in a block"),
          std::pair("lead_in_steps", "Steps before them, not timed"),
          std::pair("warm_up_steps", "Steps of warm-up"), std::pair("seed", "Seed of the order")}) {
        const auto value = shown(member(json, key));
        if (!value.empty()) record.facts.emplace_back(name, value);
    }
    return record;
}

}  // namespace switchyard::report
