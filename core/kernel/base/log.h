// Messages for people, on standard error. What a command prints as its result does not go through here.
#pragma once

#include <string_view>

namespace switchyard::log {

enum class Level { debug, information, warning, error };

void write(Level level, std::string_view text);

inline void debug(std::string_view text) { write(Level::debug, text); }
inline void information(std::string_view text) { write(Level::information, text); }
inline void warning(std::string_view text) { write(Level::warning, text); }
inline void error(std::string_view text) { write(Level::error, text); }

// Messages below it are not written; `warning` at the start, or as SWITCHYARD_LOG says (debug, information,
// warning, error).
void set_level(Level level);
Level level();

}  // namespace switchyard::log
