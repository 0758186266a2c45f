// How much of what comes from outside is taken in: texts of other programs, files of users, results that were carried over. What is larger
// is refused in words that name the limit, instead of taking all memory or all of the stack. Each is tested on its border.
#pragma once

#include <cstddef>

namespace switchyard::base::limits {

inline constexpr std::size_t json_depth = 64;                     // objects and lists inside each other
inline constexpr std::size_t json_bytes = std::size_t{64} << 20;  // of one JSON text
inline constexpr std::size_t quoted_characters = 200;             // of a foreign text that a message quotes
inline constexpr std::size_t listed_problems = 20;                // before "and N more"

}  // namespace switchyard::base::limits
