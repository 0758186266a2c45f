#include "core/workbench/report/csv_text.h"

#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/kernel/base/printable.h"

namespace switchyard::report {
namespace {

std::string csv_cell(const nlohmann::ordered_json& value) {
    if (value.is_null()) return "";
    if (!value.is_string()) return value.dump();
    const auto& raw = value.get_ref<const std::string&>();
    constexpr std::string_view begins_formula = "=+-@\t\r'";
    auto text = base::printable_lines(raw);
    if (!raw.empty() && begins_formula.find(raw.front()) != std::string_view::npos) text.insert(0, 1, '\'');
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string(2, c) : std::string(1, c);
    return quoted + '"';
}

}  // namespace

std::string csv_text(const std::vector<nlohmann::ordered_json>& rows) {
    if (rows.empty()) return "";
    std::string text;
    const auto add = [&text](const std::string& cell, bool first) { text += (first ? "" : ",") + cell; };
    bool first = true;
    for (const auto& [column, value] : rows.front().items())
        add(csv_cell(column), std::exchange(first, false));
    text += "\r\n";
    for (const auto& row : rows) {
        first = true;
        for (const auto& value : row) add(csv_cell(value), std::exchange(first, false));
        text += "\r\n";
    }
    return text;
}

}  // namespace switchyard::report
