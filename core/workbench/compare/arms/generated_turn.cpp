#include "core/workbench/compare/arms/generated_turn.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

namespace switchyard::compare {

nlohmann::ordered_json generation_request(const GenerationAsked& asked) {
    // The number of steps last: arms that are shell scripts find it there.
    return {{"type", "run"}, {"workload", 0}, {"tokens", asked.tokens}, {"steps", asked.passes}};
}

TurnAnswer read_generated_turn(const std::string& line, const GenerationAsked& asked) {
    auto answer = read_generation(line, asked);
    if (auto* const error = std::get_if<ArmError>(&answer)) return std::move(*error);
    if (auto* const error = std::get_if<ProtocolError>(&answer)) return std::move(*error);
    auto& generation = std::get<Generation>(answer);
    Turn turn;
    const auto passes = static_cast<std::size_t>(asked.passes);
    turn.step_ms = std::move(generation.step_ms);
    turn.prefill_ms = std::move(generation.prefill_ms);
    turn.loss.assign(passes, 0.0);
    turn.step_samples.assign(passes, asked.rows);
    turn.step_tokens.assign(passes, asked.rows * asked.tokens);
    turn.samples = asked.passes * asked.rows;
    turn.tokens = turn.samples * asked.tokens;
    turn.generated = std::move(generation.generated);
    turn.prompt_tokens = generation.prompt_tokens;
    turn.peak_memory_bytes = generation.peak_memory_bytes;
    turn.involuntary_switches = generation.involuntary_switches;
    turn.others_share = generation.others_share;
    turn.executed = std::move(generation.executed);
    return turn;
}

double same_tokens(const std::vector<std::vector<std::int64_t>>& arm,
                   const std::vector<std::vector<std::int64_t>>& base) {
    std::size_t same = 0, all = 0;
    for (std::size_t row = 0; row < std::min(arm.size(), base.size()); ++row) {
        const auto &ours = arm[row], &theirs = base[row];
        const auto end = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end()).first;
        same += static_cast<std::size_t>(end - ours.begin());
        all += ours.size();
    }
    if (all == 0) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(same) / static_cast<double>(all);
}

}  // namespace switchyard::compare
