#include "core/workbench/data/column_names.h"

#include <algorithm>
#include <optional>

#include "core/kernel/base/printable.h"
#include "core/workbench/data/labels.h"

namespace switchyard::data {
namespace {

std::optional<std::size_t> index_of(const std::string& column, const std::vector<std::string>& names) {
    const auto named = std::find(names.begin(), names.end(), column);
    if (named != names.end()) return static_cast<std::size_t>(named - names.begin());
    const bool number =
        column.size() > 1 && column.size() < 6 && column[0] == '#' &&
        std::all_of(column.begin() + 1, column.end(), [](unsigned char c) { return c >= '0' && c <= '9'; });
    if (!number) return std::nullopt;
    const auto index = static_cast<std::size_t>(std::stoul(column.substr(1)));
    return index < names.size() ? std::optional(index) : std::nullopt;
}

}  // namespace

FoundColumns find_columns(const std::vector<std::string>& wanted, const std::vector<std::string>& names) {
    FoundColumns found;
    for (const auto& column : wanted) {
        const auto index = index_of(column, names);
        found.missing = !index;
        if (!index) {
            found.fault =
                "has no column '" + base::quoted(column) + "'; its columns are " + quoted_list(names);
            return found;
        }
        if (names[*index] == column && std::ranges::count(names, column) > 1) {
            found.fault = "has " + std::to_string(std::ranges::count(names, column)) + " columns '" +
                          base::quoted(column) +
                          "'; expected one, or a number such as \"#0\" that says which";
            return found;
        }
        found.indices.push_back(*index);
        found.by_name = found.by_name || names[*index] == column;
    }
    return found;
}

}  // namespace switchyard::data
