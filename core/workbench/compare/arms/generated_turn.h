// Turns of Operation::generate as those of any passes: how they are asked for, and what of their answers
// other passes have, too.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/workbench/compare/arms/arm_message.h"

namespace switchyard::compare {

// The request for `asked.passes` passes of the one workload.
nlohmann::ordered_json generation_request(const GenerationAsked& asked);

// Its answer. Samples are prompts, tokens those that were written; there are no losses.
TurnAnswer read_generated_turn(const std::string& line, const GenerationAsked& asked);

// The share of an arm's tokens that come before the first of their row that differs from the base's; NaN:
// there are none.
double same_tokens(const std::vector<std::vector<std::int64_t>>& arm,
                   const std::vector<std::vector<std::int64_t>>& base);

}  // namespace switchyard::compare
