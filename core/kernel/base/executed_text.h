// What was called, in words.
#pragma once

#include <string>

#include "core/kernel/base/json_text.h"

namespace switchyard::base {

// "attention torch@math, optimizer torch": who was called in training, slot by slot, from what was counted
// ({"attention": [{"component": ..., "plugin": ..., "variant": ..., "phase": ...}, ...], ...}). What is not
// so formed is passed over: other programs write it too.
std::string executed_text(const Json& executed);

}  // namespace switchyard::base
