#include "core/workbench/compare/experiment/read_comparison.h"

#include <cmath>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/read_text.h"

namespace switchyard::compare {
namespace {

using base::Json;

constexpr std::int64_t most_recorded_steps = 1'000'000;  // of a block

std::int64_t count_or(const Json& object, const char* key, std::int64_t otherwise) {
    const auto value = base::integer_of(base::member(object, key));
    return value ? *value : otherwise;
}

bool is_time(double ms, double least = 0.0) { return ms >= least && ms <= base::limits::arm_most_ms; }

// `steps`: of the whole recording, for blocks of one that does not tell each block's.
std::optional<ArmBlock> block_of(const Json& json, std::int64_t steps) {
    if (json.is_null()) return std::nullopt;
    if (!json.is_object()) throw base::InputError("\"blocks\" holds " + base::kind_of(json));
    ArmBlock block;
    block.sample.ms = base::needed_number(json, "step_ms");
    block.sample.position = static_cast<int>(count_or(json, "position", 0));
    block.sample.involuntary_switches = count_or(json, "involuntary_switches", -1);
    block.sample.outlier = base::needed_flag(json, "outlier");
    block.wall_ms = base::number_of(json, "turn_ms").value_or(0.0);
    block.steps = count_or(json, "steps", steps);
    block.samples = base::needed_integer(json, "samples");
    block.tokens = base::needed_integer(json, "tokens");
    block.prefill_ms = base::number_of(json, "prefill_ms").value_or(block.prefill_ms);
    const auto round = base::needed_integer(json, "round");
    const bool has_times = is_time(block.sample.ms, base::limits::arm_least_ms) && is_time(block.wall_ms) &&
                           (std::isnan(block.prefill_ms) || is_time(block.prefill_ms));
    const bool has_counts = block.samples >= 1 && block.samples <= base::limits::arm_count &&
                            block.tokens >= 0 && block.tokens <= base::limits::arm_count;
    if (!has_times || !has_counts || block.steps < 1 || block.steps > most_recorded_steps || round < 0 ||
        round > 10'000)
        throw base::InputError("\"blocks\" has one with a value that none can have");
    block.round = static_cast<int>(round);
    block.repeated = base::needed_flag(json, "repeated");
    return block;
}

ArmResult arm_of(const Json& json, std::int64_t steps) {
    ArmResult arm;
    arm.spec.name = base::needed_text(json, "name");
    for (const auto& value : base::needed_list(json, "overrides"))
        arm.spec.overrides.push_back(base::shown(value));
    const auto status = parse<ArmStatus>(base::needed_text(json, "status"));
    if (!status) throw base::InputError("\"status\" is " + base::text_of(json, "status"));
    arm.status = *status;
    arm.reason = base::text_of(json, "reason");
    arm.description = base::text_of(json, "description");
    arm.dtype = base::text_of(json, "dtype");
    arm.peak_memory_bytes = count_or(json, "peak_memory_bytes", -1);
    const bool was_measured_before = !base::member(json, "measured_before").is_null();
    int round = 0;
    for (const auto& block : base::needed_list(json, "blocks")) {
        arm.blocks.push_back(block_of(block, steps));
        if (!arm.blocks.back()) continue;
        if (was_measured_before && base::member(block, "steps").is_null())
            throw base::InputError(
                "\"" + arm.spec.name + "\" was measured before the others, and it does not say " +
                "of how many steps its blocks are: make the recording anew with this version");
        if (arm.blocks.back()->round < round)
            throw base::InputError("\"blocks\" are not in the order of rounds");
        round = arm.blocks.back()->round;
    }
    return arm;
}

}  // namespace

std::string host_text(const Json& host) {
    return base::text_of(host, "name") + ", " + base::text_of(host, "cpu_model");
}

RecordedComparison comparison_of(const std::string& text, const std::string& file) {
    const auto json = base::parse_object(text, file);
    try {
        RecordedComparison read;
        const auto operation = parse<Operation>(base::needed_text(json, "operation"));
        if (!operation) throw base::InputError("\"operation\" is " + base::text_of(json, "operation"));
        read.comparison.operation = *operation;
        read.comparison.steps_per_block = base::needed_integer(json, "steps_per_block");
        if (read.comparison.steps_per_block < 0 || read.comparison.steps_per_block > most_recorded_steps)
            throw base::InputError("\"steps_per_block\" has a value that none can have");
        read.comparison.rounds = static_cast<int>(base::needed_integer(json, "rounds"));
        for (const auto& arm : base::needed_list(json, "arms"))
            read.comparison.arms.push_back(arm_of(arm, read.comparison.steps_per_block));
        read.title = base::text_of(json, "title");
        read.host = host_text(base::member(json, "host"));
        const auto values = base::member(json, "shared_values");  // of a recording that was made before: none
        if (!values.is_object() && !values.is_null())
            throw base::InputError("\"shared_values\" is " + base::kind_of(values));
        for (const auto& [key, value] : values.items()) read.shared_values[key] = base::shown(value);
        return read;
    } catch (const base::InputError& error) {
        throw base::InputError(file +
                               ": error: is not what `switchyard compare --json` writes: " + error.what());
    }
}

RecordedComparison read_comparison(const std::string& file) {
    const auto text = base::read_text(file);
    if (!text) throw base::InputError(file + ": error: there is no such file");
    return comparison_of(*text, file);
}

}  // namespace switchyard::compare
