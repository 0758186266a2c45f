#include "core/workbench/infer/stop_texts.h"

#include <algorithm>

namespace switchyard::infer {

std::optional<std::size_t> StopTexts::find(std::string_view text, std::size_t begin) const {
    auto first = std::string_view::npos;
    for (const auto& stop : texts_) first = std::min(first, text.find(stop, begin));
    return first == std::string_view::npos ? std::nullopt : std::optional(first);
}

std::size_t StopTexts::safe_end(std::string_view text, std::size_t begin) const {
    std::size_t held = 0;
    const auto there = text.size() - std::min(begin, text.size());
    for (const std::string_view stop : texts_) {
        for (auto length = std::min(stop.size() - 1, there); length > held; --length) {
            if (text.ends_with(stop.substr(0, length))) held = length;
        }
    }
    return text.size() - held;
}

}  // namespace switchyard::infer
