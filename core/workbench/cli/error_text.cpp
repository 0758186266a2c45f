#include "core/workbench/cli/error_text.h"

#include <cstdlib>

#include "core/workbench/cli/memory_advice.h"

namespace switchyard::cli {

// They are of use to those who write kernels: TORCH_SHOW_CPP_STACKTRACES=1 in the environment.
std::string without_frames(const std::string& said) {
    const auto frames = said.find("Exception raised from ");
    const bool wanted = std::getenv("TORCH_SHOW_CPP_STACKTRACES") != nullptr;
    if (frames == std::string::npos || wanted) return said;
    const auto text = said.substr(0, frames);
    return text.substr(0, text.find_last_not_of("\n ") + 1);
}

std::string error_text(const std::string& said, std::string_view command) {
    auto text = without_frames(said);
    if (is_out_of_memory(text) && text.find(less_memory) == std::string::npos)
        text += how_to_need_less(command);
    return text;
}

}  // namespace switchyard::cli
