// What was called, in words.
#pragma once

#include <string>

#include "core/kernel/base/json_text.h"

namespace switchyard::base {

// by_phase: those of each phase for themselves, "prefill: attention flash; decode: attention flash@streamed".
enum class Called { in_training, at_all, by_phase };

// "attention torch@math, optimizer torch": who was called, slot by slot, from what was counted
// ({"attention": [{"component": ..., "plugin": ..., "variant": ..., "phase": ...}, ...], ...}). What is not
// so formed is passed over: other programs write it too.
std::string executed_text(const Json& executed, Called when = Called::in_training);

}  // namespace switchyard::base
