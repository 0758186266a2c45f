// Messages for people, on standard error. What a command prints as its result does not go through here.
#pragma once

#include <string_view>

namespace switchyard::log {

enum class Level { debug, information, warning, error };

// Written from `warning` on, or from what SWITCHYARD_LOG says (debug, information, warning, error).
void write(Level level, std::string_view text);

inline void warning(std::string_view text) { write(Level::warning, text); }
inline void error(std::string_view text) { write(Level::error, text); }

}  // namespace switchyard::log
