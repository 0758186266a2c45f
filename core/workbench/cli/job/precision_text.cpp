#include "core/workbench/cli/job/precision_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

#include <nlohmann/json.hpp>

#include "core/kernel/base/json_text.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/train/precision/number_format.h"

namespace switchyard::cli {
namespace {

using nlohmann::ordered_json;
using train::OperationRecord;
using train::TensorRecord;
using train::TensorRole;
using train::ValueRange;

template <class... Values>
std::string printed(const char* form, Values... values) {
    char text[64];
    std::snprintf(text, sizeof text, form, values...);
    return text;
}

// Its end says more than its beginning.
std::string fitted(const std::string& text, std::size_t width) {
    return text.size() <= width ? text : "..." + text.substr(text.size() - width + 3);
}

std::string dtypes_text(const std::set<std::string>& dtypes) {
    return dtypes.empty() ? "-" : joined(dtypes, "+");
}

constexpr const char* pass_names[] = {"forward", "backward", "step"};
constexpr const char* short_passes[] = {"fwd", "bwd", "step"};

const char* pass_name(runtime::Pass pass) { return pass_names[static_cast<int>(pass)]; }
std::string short_pass(runtime::Pass pass) { return short_passes[static_cast<int>(pass)]; }

// What computed; where neither the component says so nor an operator of LibTorch was seen: who.
std::string computed_text(const OperationRecord& record) {
    const bool differentiated =
        record.pass == runtime::Pass::backward && record.gradient != GradientMode::kernel;
    if (!differentiated && !record.own.empty()) return dtypes_text(record.own);
    if (!record.inside.empty()) return dtypes_text(record.inside);
    if (!differentiated) return "own kernel";
    return record.gradient == GradientMode::differentiable ? "autograd" : "reference";
}

std::string magnitude(const ValueRange& range, double value) {
    return range.any() ? printed("%.1e", value) : "-";
}

// At most five characters: "-", "<.01%", "0.31%", "4.2%", "100%".
std::string share(std::uint64_t part, std::uint64_t whole) {
    if (part == 0) return "-";
    const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
    if (percent < 0.01) return "<.01%";
    if (percent < 1.0) return printed("%.2f%%", std::min(percent, 0.99));
    return printed(percent < 9.95 ? "%.1f%%" : "%.0f%%", part == whole ? percent : std::min(percent, 99.0));
}

// One line of a table: whose values, and the values.
struct Line {
    std::string layer, what;
    ValueRange values;
};

std::vector<Line> lines_of(const std::vector<OperationRecord>& records, bool tensors) {
    std::vector<Line> lines;
    for (const auto& record : records) {
        if (!tensors && record.pass != runtime::Pass::step) {
            lines.push_back({record.layer, short_pass(record.pass), record.values()});
            continue;
        }
        const auto prefix = record.pass == runtime::Pass::step ? "" : short_pass(record.pass) + " ";
        for (const auto& tensor : record.tensors)
            lines.push_back({record.layer, prefix + tensor.name, tensor.values});
    }
    return lines;
}

// All tensors of one role, each value counted where it was seen.
Line total(const std::vector<OperationRecord>& records, const std::string& name,
           const std::vector<TensorRole>& roles) {
    Line line{"all " + name, "", {}};
    for (const auto& record : records) {
        for (const auto& tensor : record.tensors) {
            if (std::find(roles.begin(), roles.end(), tensor.role) != roles.end())
                line.values.add(tensor.values);
        }
    }
    return line;
}

std::size_t width_of(const std::vector<Line>& lines, std::string Line::*part, std::size_t least,
                     std::size_t most) {
    std::size_t width = least;
    for (const auto& line : lines) width = std::max(width, (line.*part).size());
    return std::min(width, most);
}

std::string padded(const std::string& text, std::size_t width) {
    const auto fit = fitted(text, width);
    return fit + std::string(width - fit.size(), ' ');
}

std::string right(const std::string& text, std::size_t width) {
    return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

std::string trimmed(std::string text) {
    while (text.ends_with(' ')) text.pop_back();
    return text + "\n";
}

constexpr std::size_t number_of_formats = train::candidate_formats.size(),
                      cells_per_line = 3 * number_of_formats;
using Cells = std::array<std::string, cells_per_line>;

Cells cells_of(const ValueRange& values) {
    Cells cells;
    for (std::size_t f = 0; f < number_of_formats; ++f) {
        const auto& fit = values.formats[f];
        cells[3 * f] = share(fit.overflow, values.count);
        cells[3 * f + 1] = share(fit.subnormal, values.count);
        cells[3 * f + 2] = share(fit.flushed, values.count);
    }
    return cells;
}

std::string fit_line(std::string text, const Cells& cells,
                     const std::array<std::size_t, cells_per_line>& widths) {
    for (std::size_t i = 0; i < cells_per_line; ++i)
        text += (i % 3 == 0 ? "  " : " ") + right(cells[i], widths[i]);
    return trimmed(std::move(text));
}

ordered_json values_json(const ValueRange& values) {
    ordered_json formats;
    for (std::size_t i = 0; i < train::candidate_formats.size(); ++i) {
        const auto& fit = values.formats[i];
        formats[std::string(train::candidate_formats[i].name)] = {
            {"overflow", fit.overflow}, {"subnormal", fit.subnormal}, {"flushed", fit.flushed}};
    }
    return {{"count", values.count},
            {"zeros", values.zeros},
            {"nan", values.nans},
            {"infinite", values.infinities},
            {"smallest", base::number_or_null(values.smallest)},
            {"largest", values.any() ? ordered_json(values.largest) : ordered_json(nullptr)},
            {"formats", formats}};
}

constexpr const char* role_names[] = {"parameter", "input", "output", "gradient", "state"};

}  // namespace

Text formats_table() {
    Table table({"format", "bits", "exponent", "mantissa", "largest", "smallest normal", "smallest subnormal",
                 "epsilon", "digits"});
    for (const auto& format : train::number_formats) {
        table.row({std::string(format.name), std::to_string(format.bits),
                   std::to_string(format.exponent_bits), std::to_string(format.mantissa_bits),
                   printed("%.6g", format.largest()), printed("%.6g", format.smallest_normal()),
                   printed("%.6g", format.smallest_subnormal()), printed("%.6g", format.epsilon()),
                   printed("%.1f", format.decimal_digits())});
    }
    return table.render();
}

ordered_json formats_json() {
    auto list = ordered_json::array();
    for (const auto& format : train::number_formats) {
        list.push_back({{"name", format.name},
                        {"bits", format.bits},
                        {"exponent_bits", format.exponent_bits},
                        {"mantissa_bits", format.mantissa_bits},
                        {"infinity", format.infinity},
                        {"largest", format.largest()},
                        {"smallest_normal", format.smallest_normal()},
                        {"smallest_subnormal", format.smallest_subnormal()},
                        {"epsilon", format.epsilon()},
                        {"decimal_digits", format.decimal_digits()}});
    }
    return list;
}

Text dtypes_table(const std::vector<OperationRecord>& records) {
    const std::vector<std::string> titles{"layer", "operation",   "pass",     "parameters",
                                          "given", "computed in", "returned", "component"};
    std::vector<std::vector<std::string>> rows;
    std::vector<std::size_t> widths;
    for (const auto& title : titles) widths.push_back(title.size());
    for (const auto& record : records) {
        auto parameters = record.dtypes(true, true);
        auto returned = record.dtypes(false, false);
        if (record.pass == runtime::Pass::step) parameters = record.dtypes(false, true);
        rows.push_back({record.layer, record.operation, pass_name(record.pass), dtypes_text(parameters),
                        dtypes_text(record.dtypes(true, false)), computed_text(record), dtypes_text(returned),
                        record.component});
        for (std::size_t i = 1; i < titles.size(); ++i)
            widths[i] = std::max(widths[i], rows.back()[i].size());
    }
    // What the other columns, two spaces apart, leave of the line.
    const auto taken = std::accumulate(widths.begin() + 1, widths.end(), 2 * (titles.size() - 1));
    const std::size_t layer_width = taken + 12 < 110 ? 110 - taken : 12;
    Table table(titles);
    for (auto& row : rows) {
        row[0] = fitted(row[0], layer_width);
        table.row({row.begin(), row.end()});
    }
    return table.render();
}

Text ranges_table(const std::vector<OperationRecord>& records, bool tensors) {
    Table table({"layer", "values of", "count", "smallest", "largest", "zeros", "not finite"});
    for (const auto& line : lines_of(records, tensors)) {
        const auto& values = line.values;
        table.row({fitted(line.layer, 30), line.what, std::to_string(values.count),
                   magnitude(values, values.smallest), magnitude(values, values.largest),
                   share(values.zeros, values.count),
                   values.not_finite() == 0 ? "-" : paint(Color::red, std::to_string(values.not_finite()))});
    }
    return table.render();
}

std::string fit_table(const std::vector<OperationRecord>& records, bool tensors) {
    std::vector<Line> lines{total(records, "parameters", {TensorRole::parameter}),
                            total(records, "activations", {TensorRole::input, TensorRole::output}),
                            total(records, "gradients", {TensorRole::gradient}),
                            total(records, "optimizer state", {TensorRole::state})};
    std::erase_if(lines, [](const Line& line) { return line.values.count == 0; });
    for (auto& line : lines_of(records, tensors)) lines.push_back(std::move(line));
    std::vector<Cells> rows;
    std::array<std::size_t, cells_per_line> widths{};
    widths.fill(4);
    for (const auto& line : lines) {
        rows.push_back(cells_of(line.values));
        for (std::size_t i = 0; i < cells_per_line; ++i)
            widths[i] = std::max(widths[i], rows.back()[i].size());
    }
    const auto cells_width =
        std::accumulate(widths.begin(), widths.end(), cells_per_line + number_of_formats);
    const auto what = width_of(lines, &Line::what, 3, 14);
    const auto layer = width_of(lines, &Line::layer, 5, 110 - cells_width - what - 1);

    std::string head(layer + 1 + what, ' ');
    for (std::size_t f = 0; f < number_of_formats; ++f) {
        const auto width = widths[3 * f] + widths[3 * f + 1] + widths[3 * f + 2] + 2;
        const std::string name(train::candidate_formats[f].name);
        head += "  " + name + " " + std::string(width - name.size() - 1, '-');
    }
    Cells titles;
    for (std::size_t i = 0; i < cells_per_line; ++i)
        titles[i] = i % 3 == 0 ? "over" : i % 3 == 1 ? "subn" : "zero";
    std::string text =
        trimmed(head) + fit_line(padded("layer", layer) + " " + padded("", what), titles, widths);
    for (std::size_t i = 0; i < lines.size(); ++i)
        text += fit_line(padded(lines[i].layer, layer) + " " + padded(lines[i].what, what), rows[i], widths);
    return text;
}

ordered_json operations_json(const std::deque<OperationRecord>& records) {
    auto list = ordered_json::array();
    for (const auto& record : records) {
        auto tensors = ordered_json::array();
        for (const auto& tensor : record.tensors) {
            tensors.push_back({{"name", tensor.name},
                               {"role", role_names[static_cast<int>(tensor.role)]},
                               {"enters", tensor.enters},
                               {"dtypes", tensor.dtypes},
                               {"values", values_json(tensor.values)}});
        }
        list.push_back({{"layer", record.layer},
                        {"operation", record.operation},
                        {"pass", pass_name(record.pass)},
                        {"component", record.component},
                        {"gradient", std::string(name(record.gradient))},
                        {"calls", record.calls},
                        {"computed_in", record.inside},
                        {"own_kernels_in", record.own},
                        {"tensors", tensors}});
    }
    return list;
}

}  // namespace switchyard::cli
