#include "core/workbench/cli/error_text.h"

#include <algorithm>
#include <cstdlib>

#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"
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

std::string with_short_words(const std::string& said) {
    constexpr std::string_view blanks = " \t\n";
    std::string text;
    for (std::size_t at = 0; at < said.size();) {
        const auto end = std::min(said.find_first_of(blanks, at), said.size());
        auto word = std::string_view(said).substr(at, end - at);
        const auto marks = word.substr(word.find_last_not_of(":;,'\"") + 1);  // behind a name
        word.remove_suffix(marks.size());
        text += word.size() > base::limits::path_bytes ? base::quoted(word) : word;
        text += marks;
        const auto next = std::min(said.find_first_not_of(blanks, end), said.size());
        text.append(said, end, next - end);
        at = next;
    }
    return text;
}

std::string error_text(const std::string& said, std::string_view command) {
    auto text = without_frames(said);
    if (is_out_of_memory(text) && text.find(less_memory) == std::string::npos)
        text += how_to_need_less(command);
    return text;
}

}  // namespace switchyard::cli
