// Which steps of a turn changed nothing, as its arm tells it.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <vector>

#include "core/workbench/compare/arms/arm_message.h"

namespace switchyard::compare {

// Adds whether each step of a turn was skipped. Where an arm reports only how many were, the first ones of
// the turn count as skipped: a loss scale backs off at once.
void keep_skips(const Turn& turn, std::int64_t steps, std::vector<bool>& skipped);

}  // namespace switchyard::compare
