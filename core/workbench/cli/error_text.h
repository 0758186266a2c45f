// The words of errors as they are told: of memory that was lacking with what to lower.
#pragma once

#include <string>
#include <string_view>

namespace switchyard::cli {

// Without the stack that LibTorch's errors carry.
std::string without_frames(const std::string& said);
// What stands between two blanks and is longer than any path, is quoted in part.
std::string with_short_words(const std::string& said);
// Without the stack, and with what needs less memory (memory_advice.h) where it was lacking and nobody has
// said so yet.
std::string error_text(const std::string& said, std::string_view command);

}  // namespace switchyard::cli
