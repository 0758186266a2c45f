#include "core/workbench/data/label_columns.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/kernel/base/printable.h"
#include "core/workbench/data/labels.h"

namespace switchyard::data {
namespace {

using config::TaskKind;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double largest = std::numeric_limits<float>::max();

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::string fault_of(const std::string& column, std::string_view text, const std::string& what) {
    return "column '" + base::quoted(column) + "': '" + base::quoted(std::string(text)) + "' " + what;
}

// Appends the number, or says what is wrong with it.
std::string take_number(const std::string& column, std::string_view text, std::vector<double>& values) {
    const bool plus = text.starts_with('+') && !text.starts_with("+-");
    const auto digits = plus ? text.substr(1) : text;
    double value = 0.0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = end == digits.data() + digits.size() && !digits.empty();
    if (whole && error == std::errc::result_out_of_range)
        return fault_of(column, text, "is beyond what a number can be");
    if (!whole || error != std::errc()) return fault_of(column, text, "is no number");
    if (!std::isfinite(value)) return fault_of(column, text, "is not finite; expected a number");
    if (std::abs(value) > largest) return fault_of(column, text, "is beyond what a float32 can be");
    values.push_back(value);
    return "";
}

std::string take_flag(const std::string& column, std::string_view text, std::vector<double>& values) {
    const bool on = text == "1" || text == "true";
    if (!on && text != "0" && text != "false")
        return fault_of(column, text, "is no label of multi_label; expected 0 or 1");
    values.push_back(on ? 1.0 : 0.0);
    return "";
}

// A column for each label. Among several, an empty one says nothing of its label.
RowLabels by_columns(const config::Config& config, std::span<const std::string> texts,
                     std::span<const std::string> columns) {
    RowLabels labels;
    labels.rule = config.data.bad_row;
    bool any = false;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto text = trimmed(texts[i]);
        if (text.empty() && texts.size() > 1) {
            labels.values.push_back(nan);
            continue;
        }
        any = true;
        labels.column = i;
        labels.fault = config.task.kind == TaskKind::regression ? take_number(columns[i], text, labels.values)
                                                                : take_flag(columns[i], text, labels.values);
        if (!labels.fault.empty()) return labels;
    }
    if (!any)
        labels.fault =
            "no label: the columns " + quoted_list({columns.begin(), columns.end()}) + " are all empty";
    return labels;
}

// Names in one column.
RowLabels by_names(const config::Config& config, const std::string& text) {
    RowLabels labels;
    labels.rule = config.data.other_label;
    labels.values.assign(config.task.labels.size(), 0.0);
    const auto& separator = config.data.label_separator;
    for (std::string_view rest = text; !trimmed(rest).empty();) {
        const auto end = rest.find(separator);
        const auto name = std::string(trimmed(rest.substr(0, end)));
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + separator.size());
        const auto number = label_number(config.task.labels, name);
        if (!number) {
            labels.fault = unknown_label(config.task.labels, name);
            return labels;
        }
        labels.values[static_cast<std::size_t>(*number)] = 1.0;
    }
    return labels;
}

}  // namespace

std::vector<std::string> label_columns(const config::Config& config) {
    switch (config.task.kind) {
        case TaskKind::classification:
            return {config.data.label_column};
        case TaskKind::regression:
            return label_names(config);
        case TaskKind::multi_label:
            return config.data.label_separator.empty() ? config.task.labels
                                                       : std::vector{config.data.label_column};
        default:
            return {};
    }
}

RowLabels labels_of(const config::Config& config, std::span<const std::string> texts,
                    std::span<const std::string> columns) {
    if (config.task.kind == TaskKind::classification) {
        RowLabels labels;
        const auto number = label_number(config.task.labels, texts[0]);
        if (number)
            labels.number = *number;
        else
            labels.fault = unknown_label(config.task.labels, texts[0]);
        labels.rule = config.data.other_label;
        return labels;
    }
    const bool names = config.task.kind == TaskKind::multi_label && !config.data.label_separator.empty();
    if (names) return by_names(config, texts[0]);
    return by_columns(config, texts, columns.empty() ? label_columns(config) : columns);
}

}  // namespace switchyard::data
