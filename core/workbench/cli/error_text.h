// The words of errors as they are told: of memory that was lacking with what to lower.
#pragma once

#include <string>

namespace switchyard::cli {

// Without the stack that LibTorch's errors carry.
std::string without_frames(const std::string& said);
// Whether there was too little memory: by the words of the allocator, of LibTorch on a device, or of the
// standard library.
bool tells_of_memory(const std::string& said);
// Without the stack, and what needs less memory where it was lacking.
std::string error_text(const std::string& said);

}  // namespace switchyard::cli
