#include "core/workbench/data/labels.h"

#include <algorithm>

#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"

namespace switchyard::data {

std::optional<std::int64_t> label_number(const std::vector<std::string>& labels, const std::string& label) {
    const auto found = std::find(labels.begin(), labels.end(), label);
    if (found != labels.end()) return found - labels.begin();
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (std::to_string(i) == label) return static_cast<std::int64_t>(i);
    }
    return std::nullopt;
}

std::string unknown_label(const std::vector<std::string>& labels, const std::string& label) {
    return "label '" + base::quoted(label) + "' is none of " + quoted_list(labels) + " (task.labels)";
}

std::string quoted_list(const std::vector<std::string>& names) {
    constexpr std::size_t most = base::limits::listed_problems;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
        text += (text.empty() ? "'" : ", '") + base::quoted(names[i]) + "'";
    return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more" : text;
}

}  // namespace switchyard::data
