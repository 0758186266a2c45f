#include "core/workbench/bench/bench_sweep.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "core/kernel/base/number_text.h"
#include "core/workbench/bench/measure/text_table.h"

namespace switchyard::bench {
namespace {

constexpr int bar_width = 24;

std::string bar(double value, double largest) {
    if (!(value > 0.0) || !(largest > 0.0)) return "";
    return std::string(static_cast<std::size_t>(std::max(1.0, std::round(bar_width * value / largest))), '#');
}

std::optional<std::int64_t> read_whole(std::string_view text) {
    std::int64_t value = 0;
    const auto end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && at == end ? std::optional(value) : std::nullopt;
}

std::string read_values(std::string_view text, std::vector<std::int64_t>& values) {
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        const auto word = text.substr(0, comma);
        const auto value = read_whole(word);
        if (!value) return "expected whole numbers, got \"" + std::string(word) + "\"";
        if (std::find(values.begin(), values.end(), *value) != values.end())
            return std::string(word) + " is given twice";
        values.push_back(*value);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return values.size() < 2 ? "expected at least two values, as in chunk_size=64,256" : "";
}

// Without the budget, the fastest; with it, the fastest that keeps to it.
const BenchRow* best(const std::vector<const BenchRow*>& rows, std::int64_t budget) {
    const BenchRow* found = nullptr;
    for (const BenchRow* row : rows) {
        if (row->status != RowStatus::ok) continue;
        if (budget > 0 && (row->extra_memory_bytes < 0 || row->extra_memory_bytes > budget)) continue;
        if (found == nullptr || row->ms.median < found->ms.median) found = row;
    }
    return found;
}

std::string verdict(const std::vector<const BenchRow*>& rows, std::int64_t budget) {
    const BenchRow* const found = best(rows, budget);
    const std::string within =
        budget > 0 ? " within " + base::bytes_text(static_cast<double>(budget)) + " of extra memory" : "";
    if (found == nullptr) return "none" + within;
    return "fastest" + within + ": " + found->ran() + ", " + base::digits(found->ms.median) + " ms" +
           (found->extra_memory_bytes < 0
                ? ""
                : ", " + base::bytes_text(static_cast<double>(found->extra_memory_bytes)));
}

std::string draw(const std::vector<const BenchRow*>& rows, std::int64_t budget) {
    double slowest = 0.0, largest = 0.0;
    for (const BenchRow* row : rows) {
        if (!row->timed()) continue;
        slowest = std::max(slowest, row->ms.median);
        largest = std::max(largest, static_cast<double>(row->extra_memory_bytes));
    }
    TextTable table({{rows.front()->swept_option},
                     {"ms"},
                     {"time", TextTable::Align::left},
                     {"memory"},
                     {"", TextTable::Align::left}});
    for (const BenchRow* row : rows) {
        const std::string value = std::to_string(row->swept_value);
        if (!row->timed()) {
            table.row({value, std::string(name(row->status))});
            continue;
        }
        const auto memory = static_cast<double>(row->extra_memory_bytes);
        table.row({value, base::digits(row->ms.median), bar(row->ms.median, slowest),
                   memory < 0.0 ? "-" : base::bytes_text(memory), bar(memory, largest)});
    }
    return table.render("  ") + wrap("  " + verdict(rows, budget), 110, "  ") + "\n";
}

}  // namespace

std::string read_sweep(const std::string& text, std::int64_t longest, Sweep& sweep) {
    const auto equals = std::min(text.find('='), text.size());
    sweep = {text.substr(0, equals), {}};
    if (sweep.option.empty()) return "expected the name of an option, as in chunk_size=64,256";
    if (equals < text.size()) return read_values(std::string_view(text).substr(equals + 1), sweep.values);
    for (std::int64_t value = 32; value <= std::max<std::int64_t>(longest, 64); value *= 2)
        sweep.values.push_back(value);
    return "";
}

std::optional<std::int64_t> read_bytes(const std::string& text) {
    double number = 0.0;
    const auto end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || !(number >= 0.0)) return std::nullopt;
    static const std::map<std::string, double, std::less<>> units{{"", 1.0},   {"B", 1.0},  {"kB", 1e3},
                                                                  {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}};
    const std::string_view rest(at, static_cast<std::size_t>(end - at));
    const auto unit = units.find(rest.substr(std::min(rest.find_first_not_of(' '), rest.size())));
    if (unit == units.end() || number * unit->second > 9e18) return std::nullopt;
    return static_cast<std::int64_t>(number * unit->second);
}

std::string sweep_text(const BenchRow* begin, const BenchRow* end, std::int64_t memory_budget_bytes) {
    std::map<std::string, std::vector<const BenchRow*>> by_backend;
    for (const BenchRow* row = begin; row != end; ++row) {
        if (!row->swept_option.empty()) by_backend[row->asked].push_back(row);
    }
    std::string text;
    for (const auto& [backend, rows] : by_backend) text += draw(rows, memory_budget_bytes);
    return text;
}

}  // namespace switchyard::bench
