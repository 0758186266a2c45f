#include "core/workbench/data/parquet/parquet_rows.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/data/byte_source.h"
#include "core/workbench/data/column_names.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {
namespace {

namespace fs = std::filesystem;
namespace limits = base::limits;

constexpr std::string_view parquet_mark = "PAR1";
// With the mark at both ends, and the footer's length.
constexpr std::streamoff shortest_parquet = 12;

// As many bytes from there on as there are, but at most `count`.
std::string bytes_at(std::istream& file, std::streamoff begin, std::size_t count) {
    std::string bytes(count, '\0');
    file.clear();
    file.seekg(begin);
    file.read(bytes.data(), static_cast<std::streamsize>(count));
    bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
    return bytes;
}

// What is wrong with a file, as far as its ends tell.
std::string fault_of_ends(const std::string& path) {
    std::error_code ignored;
    const auto kind = fs::status(path, ignored).type();
    if (kind == fs::file_type::directory) return "is a folder; expected a file";
    if (kind == fs::file_type::fifo || kind == fs::file_type::character || kind == fs::file_type::socket)
        return "is no regular file; expected one, since Parquet is read from its end";
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::string("cannot be opened: ") + std::strerror(errno);
    const auto start = bytes_at(file, 0, parquet_mark.size());
    if (start == "PARE") return "is an encrypted Parquet file; expected one that is not encrypted";
    if (packing_of(start) != Packing::none)
        return "is packed as a whole; expected a Parquet file as it is, whose pages are packed: unpack it";
    if (start != parquet_mark)
        return "is no Parquet file, since it does not begin with PAR1; expected a name that tells what it is";
    file.clear();
    file.seekg(0, std::ios::end);
    const auto size = static_cast<std::streamoff>(file.tellg());
    if (size < shortest_parquet || bytes_at(file, size - 4, parquet_mark.size()) != parquet_mark)
        return "is a Parquet file that is cut off: it does not end with PAR1";
    return "";
}

// A row that cannot be used: why, and in which of its values.
struct UnusableRow {
    std::string message;
    std::size_t value = 0;
};

class TableReader {
public:
    TableReader(const RowRequest& request, ParquetTable& table, std::vector<std::size_t> columns)
        : request_(request), table_(table), columns_(std::move(columns)) {
        std::error_code error;
        const auto size = fs::file_size(request.path, error);
        most_ = std::max<std::uintmax_t>(limits::unpacked_bytes, error ? 0 : size * limits::unpacked_ratio);
    }

    RowsRead run() {
        while (table_.next(columns_, values_)) {
            ++number_;
            const auto fault = fault_of_row();
            if (unpacked_ > most_) {
                result_.error =
                    at(number_, 1) + "its rows unpack to more than " + std::to_string(most_) +
                    " bytes, which no text of the file's size does; write them as .jsonl if it is meant";
                return std::move(result_);
            }
            if (!(fault.message.empty() ? hand_out() : report(fault))) return std::move(result_);
        }
        if (!table_.fault().empty())
            result_.error = at(number_ + 1, 1) + "cannot be read on; its data may be damaged or cut off: " +
                            base::quoted(table_.fault());
        return std::move(result_);
    }

private:
    std::string at(std::int64_t row, std::int64_t column) const {
        return request_.path + ":" + to_string(RowPlace{row, column}) + ": ";
    }

    std::string name_of(std::size_t value) const { return base::quoted(request_.columns[value]); }

    UnusableRow fault_of_row() {
        std::size_t bytes = 0;
        ++unpacked_;
        for (std::size_t i = 0; i < values_.size(); ++i) {
            const auto& [state, text] = values_[i];
            if (state == ParquetValue::State::null)
                return {"has no text, number or boolean for '" + name_of(i) + "'", i};
            if (state == ParquetValue::State::not_finite)
                return {"has a number for '" + name_of(i) + "' that is not finite", i};
            bytes += text.size();
            unpacked_ += text.size();
            if (state == ParquetValue::State::too_long || bytes > limits::line_bytes)
                return {"is longer than " + std::to_string(limits::line_bytes) + " bytes", i};
            if (const auto problem = utf8_problem(text); !problem.empty())
                return {"has a text for '" + name_of(i) + "' that " + problem, i};
        }
        return {};
    }

    bool hand_out() {
        Row row{number_, {}, {RowFormat::parquet, {}, columns_, request_.columns}};
        for (auto& value : values_) row.values.push_back(std::move(value.text));
        ++result_.rows;
        return request_.on_row(row);
    }

    bool report(const UnusableRow& fault) const {
        const auto column = static_cast<std::int64_t>(columns_[fault.value]) + 1;
        return !request_.on_problem || request_.on_problem({number_, fault.message, column});
    }

    const RowRequest& request_;
    ParquetTable& table_;
    std::vector<std::size_t> columns_;
    std::vector<ParquetValue> values_;
    std::int64_t number_ = 0;      // of the row
    std::uintmax_t unpacked_ = 0;  // bytes of all rows so far
    std::uintmax_t most_ = 0;
    RowsRead result_;
};

}  // namespace

bool is_parquet_file(const std::string& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return false;
    std::ifstream file(path, std::ios::binary);
    const auto start = bytes_at(file, 0, parquet_mark.size() + 1);
    return start == std::string(parquet_mark) + '\x15';
}

namespace {

struct OpenedTable {
    std::unique_ptr<ParquetTable> table;
    std::string error;  // set if there is no table
};

OpenedTable open_table(const std::string& path, const std::string& library) {
    OpenedTable opened;
    const auto failed = [&](const std::string& fault) {
        opened.error = path + ": " + fault;
        return std::move(opened);
    };
    if (const auto fault = fault_of_ends(path); !fault.empty()) return failed(fault);
    const auto loaded = load_parquet(library);
    if (loaded.open == nullptr) return failed(loaded.error);
    std::string fault;
    opened.table.reset(loaded.open(path.c_str(), fault));
    if (!opened.table) return failed("cannot be read; it may be damaged or cut off: " + base::quoted(fault));
    return opened;
}

}  // namespace

ColumnNames read_parquet_names(const std::string& path, const std::string& library) {
    const auto opened = open_table(path, library);
    ColumnNames names{{}, opened.error};
    if (opened.table == nullptr) return names;
    for (const auto& column : opened.table->columns())
        if (column.taken) names.names.push_back(column.name);
    return names;
}

RowsRead read_parquet_rows(const RowRequest& request, const std::string& library) {
    const auto failed = [&](const std::string& fault) { return RowsRead{0, request.path + fault}; };
    const auto opened = open_table(request.path, library);
    const auto& table = opened.table;
    if (!table) return {0, opened.error};
    std::vector<std::string> names;
    for (const auto& column : table->columns()) names.push_back(column.name);
    auto found = find_columns(request.columns, names);
    if (!found.fault.empty()) return failed(": " + found.fault);
    for (const auto index : found.indices) {
        const auto& column = table->columns()[index];
        if (!column.taken)
            return failed(":1:" + std::to_string(index + 1) + ": its column '" + base::quoted(column.name) +
                          "' has values of the type " + base::quoted(column.type) +
                          "; expected a text, a number or a boolean in each row");
    }
    return TableReader(request, *table, std::move(found.indices)).run();
}

}  // namespace switchyard::data
