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
// forward: passes over the same samples, without gradients. How they are put into batches is the arm's.
// generate: passes that write so many tokens after the same prompts, the likeliest each time.
enum class Operation : std::uint8_t { step, forward, generate };

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
inline constexpr std::array<std::string_view, 3> names<compare::Operation>{"step", "forward", "generate"};
}  // namespace switchyard
