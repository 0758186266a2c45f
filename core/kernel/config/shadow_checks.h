// What the shadow of a slot and the rest of a configuration do not allow each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/kernel/config/mistake.h"

namespace switchyard::config {

// "attention.shadow.backend"
std::string shadow_key(Kind kind);

bool has_shadow(const Config& config);

std::vector<Mistake> shadow_mistakes(const Config& config);

// Why so many ranks train without the shadows of `config`, with the place; empty: they do not, or there is
// none. How many ranks there are is known to who starts them.
std::string shadow_problem(const Config& config, std::int64_t ranks);

}  // namespace switchyard::config
