#include "core/workbench/data/table_facts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/workbench/data/rows.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {
namespace {

bool is_number(const std::string& text, bool& whole) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != '\0' || !std::isfinite(value)) return false;
    whole = value == std::trunc(value) && text.find_first_of(".eE") == std::string::npos;
    return true;
}

class Column {
public:
    explicit Column(std::string name) { facts_.name = std::move(name); }

    void add(const std::string& value) {
        ++facts_.rows;
        lengths_.push_back(static_cast<std::int64_t>(value.size()));
        if (value.empty()) {
            ++facts_.empty;
            return;
        }
        bool whole = false;
        if (facts_.numbers && !is_number(value, whole)) facts_.numbers = false;
        if (!whole) facts_.whole_numbers = false;
        if (facts_.many_values) return;
        ++facts_.values[value];
        if (facts_.values.size() <= ColumnFacts::most_values) return;
        facts_.many_values = true;
        facts_.values.clear();
    }

    ColumnFacts take() {
        if (facts_.rows == facts_.empty) facts_.numbers = false;
        if (!facts_.numbers) facts_.whole_numbers = false;
        if (lengths_.empty()) return facts_;
        double sum = 0.0;
        for (const auto length : lengths_) sum += static_cast<double>(length);
        facts_.mean_bytes = sum / static_cast<double>(lengths_.size());
        const auto at = lengths_.begin() + static_cast<std::ptrdiff_t>((lengths_.size() * 95 + 99) / 100 - 1);
        std::nth_element(lengths_.begin(), at, lengths_.end());
        facts_.percent_95_bytes = *at;
        return facts_;
    }

private:
    ColumnFacts facts_;
    std::vector<std::int64_t> lengths_;
};

}  // namespace

TableFacts look_at(const std::string& path, std::optional<RowFormat> format, std::int64_t most_rows) {
    TableFacts facts;
    if (!format) format = format_of(path);
    if (!format) {
        facts.error =
            path +
            ": is of no known form; expected a name that ends with .txt, .smi, .tsv, .csv, .tab, .jsonl "
            "or .parquet, packed ones with .gz, .bz2 or .zst behind it";
        return facts;
    }
    facts.format = *format;
    auto names = read_column_names(path, *format);
    if (!names.error.empty()) {
        facts.error = names.error;
        return facts;
    }
    std::vector<Column> columns(names.names.begin(), names.names.end());
    RowRequest request;
    request.path = path;
    request.format = *format;
    request.columns = names.names;
    const auto go_on = [&] {
        facts.more = facts.rows + facts.bad_rows >= most_rows;
        return !facts.more;
    };
    request.on_problem = [&](const RowProblem& problem) {
        if (!go_on()) return false;
        if (++facts.bad_rows == 1)
            facts.first_bad =
                to_string(RowPlace{problem.line, problem.column}) + ": the row " + problem.message;
        return true;
    };
    request.on_row = [&](Row& row) {
        if (!go_on()) return false;
        ++facts.rows;
        const auto any = [&](auto&& what) { return std::ranges::any_of(row.values, what); };
        facts.with_nul += any([](const auto& text) { return text.find('\0') != std::string::npos; }) ? 1 : 0;
        facts.no_utf8 +=
            any([](const auto& text) { return find_invalid_utf8(text) != std::string::npos; }) ? 1 : 0;
        for (std::size_t i = 0; i < columns.size(); ++i) columns[i].add(row.values[i]);
        return true;
    };
    facts.error = read_rows(request).error;
    for (auto& column : columns) facts.columns.push_back(column.take());
    return facts;
}

}  // namespace switchyard::data
