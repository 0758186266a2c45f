#include "core/workbench/cli/error_text.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace switchyard::cli {

// They are of use to those who write kernels: TORCH_SHOW_CPP_STACKTRACES=1 in the environment.
std::string without_frames(const std::string& said) {
    const auto frames = said.find("Exception raised from ");
    const bool wanted = std::getenv("TORCH_SHOW_CPP_STACKTRACES") != nullptr;
    if (frames == std::string::npos || wanted) return said;
    const auto text = said.substr(0, frames);
    return text.substr(0, text.find_last_not_of("\n ") + 1);
}

bool tells_of_memory(const std::string& said) {
    // The first is of core/kernel/machine/cpu_allocator.cpp.
    constexpr std::array<std::string_view, 5> signs{"cannot allocate ", "can't allocate memory",
                                                    "out of memory", "not enough memory", "std::bad_alloc"};
    return std::ranges::any_of(signs,
                               [&](std::string_view sign) { return said.find(sign) != std::string::npos; });
}

std::string error_text(const std::string& said) {
    constexpr std::string_view advice =
        "\nless memory is needed with a smaller batch.size (and more train.grad_accumulation_steps for it), "
        "a smaller\nbatch.max_length, or train.recompute = \"layers\"";
    auto text = without_frames(said);
    if (tells_of_memory(text) && text.find(advice) == std::string::npos) text += advice;
    return text;
}

}  // namespace switchyard::cli
