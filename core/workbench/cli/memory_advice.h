// What a user can lower where a command needed more memory than there is.
#pragma once

#include <string>
#include <string_view>

namespace switchyard::cli {

// Whether an error says that memory ran out: the allocator's (core/kernel/machine/cpu_allocator.cpp),
// LibTorch's for a device, or the standard library's.
bool is_out_of_memory(std::string_view text);

// How advice begins, on a line of its own.
inline constexpr std::string_view less_memory = "less memory is needed with ";
// Lines that name what of this command's own settings takes less: "bench inference"; empty: it has none.
std::string how_to_need_less(std::string_view command);

}  // namespace switchyard::cli
