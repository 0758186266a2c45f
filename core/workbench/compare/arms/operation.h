// What the arms of a comparison do in their turns.
//
// No LibTorch here.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <switchyard/interfaces/types.h>

namespace switchyard::compare {

// step: training steps, each on the same batch in all arms.
// epoch: passes of training over the same samples. How they are put into batches is the arm's.
// forward: passes over the same samples, without gradients. How they are put into batches is the arm's.
// data: passes that only put the same samples into batches, in the arm's way.
// generate: passes that write so many tokens after the same prompts, the likeliest each time. How many
// prompts are read at once is the arm's.
enum class Operation : std::uint8_t { step, epoch, forward, data, generate };

// Passes over so many samples, in batches of each arm's own.
constexpr bool is_over_samples(Operation operation) { return operation != Operation::step; }

// Its first step is what arms are compared by before anything is timed; else the first samples are.
constexpr bool trains(Operation operation) {
    return operation == Operation::step || operation == Operation::epoch;
}

// What is counted: "step" or "pass".
constexpr std::string_view unit_of(Operation operation) {
    return operation == Operation::step ? "step" : "pass";
}
constexpr std::string_view units_of(Operation operation) {
    return operation == Operation::step ? "steps" : "passes";
}

}  // namespace switchyard::compare

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 5> names<compare::Operation>{"step", "epoch", "forward", "data",
                                                                           "generate"};
}  // namespace switchyard
