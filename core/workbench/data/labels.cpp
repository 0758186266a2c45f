#include "core/workbench/data/labels.h"

#include <algorithm>
#include <string_view>

#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"

namespace switchyard::data {
namespace {

bool is_whole_number(std::string_view text) {
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<std::int64_t> label_number(const std::vector<std::string>& labels, const std::string& label) {
    const auto found = std::find(labels.begin(), labels.end(), label);
    if (found != labels.end()) return found - labels.begin();
    if (std::any_of(labels.begin(), labels.end(), is_whole_number)) return std::nullopt;
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
