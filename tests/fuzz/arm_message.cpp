// A line that an arm of a comparison says: an answer that means the same when it is written and read again,
// or what is wrong with it.
#include <cmath>

#include "core/kernel/base/printable.h"
#include "core/workbench/compare/arms/arm_message.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
using namespace switchyard::compare;

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// What is not finite is written as null, and read as NaN.
bool same_finite(double a, double b) { return same(std::isfinite(a) ? a : std::nan(""), b); }

template <class Answer>
void require_sound_refusal(const Answer& answer) {
    if (const auto* protocol_error = std::get_if<ProtocolError>(&answer)) {
        require_message(protocol_error->text);
        require(protocol_error->text.size() < 2000, "an arm's line is repeated at length");
        require(switchyard::base::printable(protocol_error->text) == protocol_error->text,
                "an arm's line is repeated raw", protocol_error->text);
    }
}

void check_ready(const std::string& line) {
    const auto answer = read_ready(line);
    require_sound_refusal(answer);
    const auto* const ready = std::get_if<Ready>(&answer);
    if (ready == nullptr) return;
    const auto again = read_ready(to_message(*ready).dump());
    const auto* const second = std::get_if<Ready>(&again);
    require(second != nullptr && second->description == ready->description && second->dtype == ready->dtype &&
                same_finite(ready->loss, second->loss) &&
                second->first_step_written == ready->first_step_written &&
                second->amplification.has_value() == ready->amplification.has_value(),
            "an answer to prepare does not come back", line);
}

void check_turn(const std::string& line, std::int64_t steps) {
    const auto answer = read_turn(line, steps);
    require_sound_refusal(answer);
    const auto* const turn = std::get_if<Turn>(&answer);
    if (turn == nullptr) return;
    require(
        turn->step_ms.size() == static_cast<std::size_t>(steps) && turn->loss.size() == turn->step_ms.size(),
        "not one number for each step", line);
    for (const double ms : turn->step_ms)
        require(std::isfinite(ms) && ms >= 0.0, "a time that is none", line);
    require(turn->samples > 0 && turn->tokens >= 0, "counts that are none", line);
    const auto again = read_turn(to_message(*turn).dump(), steps);
    const auto* const second = std::get_if<Turn>(&again);
    require(second != nullptr && second->step_ms == turn->step_ms && second->samples == turn->samples &&
                second->tokens == turn->tokens && second->skipped == turn->skipped &&
                second->step_samples == turn->step_samples && second->step_tokens == turn->step_tokens &&
                second->step_skipped == turn->step_skipped && second->executed == turn->executed,
            "an answer to run does not come back", line);
}

void check_generation(const std::string& line, const GenerationAsked& asked) {
    const auto answer = read_generation(line, asked);
    require_sound_refusal(answer);
    const auto* const generation = std::get_if<Generation>(&answer);
    if (generation == nullptr) return;
    const auto passes = static_cast<std::size_t>(asked.passes);
    require(generation->step_ms.size() == passes && generation->prefill_ms.size() == passes &&
                generation->token_ms.size() == passes,
            "not one time for each pass", line);
    for (const auto& row : generation->generated) {
        require(row.size() == static_cast<std::size_t>(asked.tokens), "not as many tokens as asked for",
                line);
        for (const auto id : row) require(id >= 0 && id < asked.vocabulary, "a token that is none", line);
    }
    const auto again = read_generation(to_message(*generation).dump(), asked);
    const auto* const second = std::get_if<Generation>(&again);
    require(second != nullptr && second->step_ms == generation->step_ms &&
                second->token_ms == generation->token_ms && second->generated == generation->generated &&
                second->cache_bytes == generation->cache_bytes && second->executed == generation->executed,
            "an answer to a generation does not come back", line);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string line(text_of(data, size));
    check_ready(line);
    for (const std::int64_t steps : {1, 2, 5}) check_turn(line, steps);
    check_generation(line, {1, 1, 1, 10});
    check_generation(line, {2, 1, 3, 10});
    require(switchyard::base::quoted(line).size() < 2000, "a quoted line is too long");
    return 0;
}
