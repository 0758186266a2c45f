#include "core/workbench/data/rows.h"

#include <algorithm>
#include <exception>
#include <istream>
#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/next_line.h"
#include "core/workbench/data/byte_source.h"
#include "core/workbench/data/column_names.h"
#include "core/workbench/data/parquet/parquet_rows.h"

namespace switchyard::data {
namespace {

using Fields = std::vector<std::string>;

std::string count_of_columns(std::size_t count) {
    return std::to_string(count) + (count == 1 ? " column" : " columns");
}

const std::string overlong = "is longer than " + std::to_string(base::limits::line_bytes) + " bytes";

// Lines without their ends, counted.
class Lines {
public:
    explicit Lines(std::istream& stream) : buffer_(*stream.rdbuf()) {}
    bool next(std::string& line) {
        const auto read = base::next_line(buffer_, line);
        if (read == base::Line::none) return false;
        ++number_;
        too_long_ = read == base::Line::too_long;
        return true;
    }
    std::int64_t number() const { return number_; }
    // Of the last line: what is left of it is not all of it.
    bool too_long() const { return too_long_; }

private:
    std::streambuf& buffer_;
    std::int64_t number_ = 0;
    bool too_long_ = false;
};

Fields split_tabs(const std::string& line) {
    Fields fields;
    std::size_t start = 0;
    for (std::size_t tab; (tab = line.find('\t', start)) != std::string::npos; start = tab + 1) {
        fields.push_back(line.substr(start, tab - start));
    }
    fields.push_back(line.substr(start));
    return fields;
}

// What is wrong with a row; no message: nothing.
struct Fault {
    std::string message;
    RowPlace place = {};
};

// One record, which may run over several lines, whose text is gathered in `record`, which holds the first. On
// a fault reading goes on at the next line.
Fields split_csv(std::string& record, Lines& lines, Fault& fault) {
    Fields fields(1);
    bool quoted = false;
    std::size_t opened = 0, begin = 0;  // the last quotation mark that opens a field; the line's first byte
    RowPlace place;
    std::string line;
    for (std::size_t at = 0;; ++at) {
        if (at == record.size()) {
            if (!quoted) return fields;
            if (opened >= begin) place = {lines.number(), static_cast<std::int64_t>(opened - begin) + 1};
            if (!lines.next(line)) {
                fault = {"has a quoted field that is never closed; expected a quotation mark at its end",
                         place};
                return {};
            }
            if (record.size() + line.size() + 1 > base::limits::line_bytes || lines.too_long()) {
                fault = {overlong + "; is a quotation mark not closed?", place};
                return {};
            }
            begin = at + 1;
            record.append("\n").append(line);
            fields.back() += '\n';
            continue;
        }
        const char c = record[at];
        if (quoted) {
            const bool escaped = c == '"' && at + 1 < record.size() && record[at + 1] == '"';
            if (c == '"' && !escaped)
                quoted = false;
            else
                fields.back() += c;
            if (escaped) ++at;
        } else if (c == ',') {
            fields.emplace_back();
        } else if (c == '"' && fields.back().empty()) {
            quoted = true;
            opened = at;
        } else {
            fields.back() += c;
        }
    }
}

// What a header without the wanted columns gives away of the file.
std::string other_form(const Fields& header, RowFormat format) {
    const auto& start = header.front();
    if (start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff"))
        return "; it is UTF-16: expected UTF-8 (`iconv -f UTF-16 -t UTF-8` makes it)";
    if (std::ranges::any_of(header, [](const auto& name) { return name.find('\r') != std::string::npos; }))
        return "; its lines end with carriage returns: expected line feeds (`tr '\\r' '\\n'` makes them)";
    if (header.size() != 1) return "";
    const auto& line = header.front();
    const bool csv = format == RowFormat::csv;
    if (csv && line.find(';') != std::string::npos)
        return "; it is separated by semicolons: expected commas between columns, or tabs in a file named "
               ".tsv";
    if (csv && line.find('\t') != std::string::npos) return "; it is separated by tabs: name it .tsv";
    if (!csv && line.find(',') != std::string::npos) return "; it is separated by commas: name it .csv";
    return "";
}

class Reader {
public:
    Reader(const RowRequest& request, std::istream& stream) : request_(request), lines_(stream) {}

    RowsRead run() {
        switch (request_.format) {
            case RowFormat::text:
                read_text();
                break;
            case RowFormat::jsonl:
                read_jsonl();
                break;
            default:
                read_table();
                break;
        }
        return std::move(result_);
    }

    ColumnNames names() {
        std::string line;
        Fault fault;
        Fields fields;
        if (request_.format == RowFormat::text) return {{"text"}, ""};
        if (!lines_.next(line)) return {{}, request_.path + ": is empty"};
        if (line.substr(0, 3) == "\xEF\xBB\xBF") line.erase(0, 3);
        const auto failed = [&](const RowPlace& place, const std::string& what) -> ColumnNames {
            return {{}, request_.path + ":" + to_string(place) + ": " + what};
        };
        if (request_.format != RowFormat::jsonl) {
            if (!split(line, fields, fault)) return failed(fault.place, fault.message);
            return {std::move(fields), ""};
        }
        const auto parsed = base::parse_json(line);
        if (!parsed.fault.empty())
            return failed({lines_.number(), parsed.column},
                          "is " + parsed.fault + "; expected one JSON object a line");
        if (!parsed.value.is_object())
            return failed({lines_.number(), 1},
                          "is " + base::kind_of(parsed.value) + "; expected a JSON object");
        for (const auto& [key, value] : parsed.value.items())
            if (!value.is_structured() && !value.is_null()) fields.push_back(key);
        return {std::move(fields), ""};
    }

private:
    // `text`: the row as it stands in the file.
    bool hand_out(std::int64_t line, Fields values, std::string_view text) {
        Row row{line, std::move(values), {request_.format, text, indices_, request_.columns}};
        ++result_.rows;
        return request_.on_row(row);
    }
    bool report(const Fault& fault) const {
        return !request_.on_problem ||
               request_.on_problem({fault.place.line, fault.message, fault.place.column});
    }
    // The last line is too long.
    Fault too_long() const {
        return {overlong, {lines_.number(), static_cast<std::int64_t>(base::limits::line_bytes) + 1}};
    }

    void read_text() {
        for (const auto& column : request_.columns) {
            if (column != "text") {
                result_.error =
                    request_.path + ": a text file has the one column 'text', not '" + column + "'";
                return;
            }
        }
        std::string line;
        while (lines_.next(line)) {
            const bool more = lines_.too_long()
                                  ? report(too_long())
                                  : hand_out(lines_.number(), Fields(request_.columns.size(), line), line);
            if (!more) return;
        }
    }

    // `line` becomes the whole row.
    bool split(std::string& line, Fields& fields, Fault& fault) {
        fault = {};
        if (lines_.too_long())
            fault = too_long();
        else
            fields = request_.format == RowFormat::csv ? split_csv(line, lines_, fault) : split_tabs(line);
        return fault.message.empty();
    }

    // A row of another width than the first: the place is that of the first column too many, or the end.
    Fault wrong_width(std::int64_t line, const std::string& text, std::size_t columns,
                      std::size_t width) const {
        const std::vector<std::size_t> extra{width};
        const RowText row{request_.format, text, extra, {}};
        return {"has " + count_of_columns(columns) + ", expected " + std::to_string(width),
                place_in(row, line, 0, "", columns > width ? 0 : text.size())};
    }

    // The header names the columns unless every column is asked for by number; then the first line is a row.
    std::string find_columns(const Fields& first) {
        auto found = data::find_columns(request_.columns, first);
        if (!found.fault.empty())
            return request_.path + ":1:1: " + found.fault +
                   (found.missing ? other_form(first, request_.format) : "");
        indices_ = std::move(found.indices);
        by_name_ = found.by_name;
        return "";
    }

    void read_table() {
        std::string line;
        Fault fault;
        Fields fields;
        if (!lines_.next(line)) return;
        if (line.substr(0, 3) == "\xEF\xBB\xBF") line.erase(0, 3);
        if (!split(line, fields, fault)) {
            result_.error = request_.path + ":" + to_string(fault.place) + ": " + fault.message;
            return;
        }
        result_.error = find_columns(fields);
        if (!result_.error.empty()) return;
        const auto width = fields.size();
        if (request_.format == RowFormat::tab) lines_.next(line) && lines_.next(line);
        if (!by_name_ && !hand_out(1, pick(fields), line)) return;
        while (lines_.next(line)) {
            const auto number = lines_.number();
            if (line.empty()) continue;
            if (split(line, fields, fault) && fields.size() != width)
                fault = wrong_width(number, line, fields.size(), width);
            if (!(fault.message.empty() ? hand_out(number, pick(fields), line) : report(fault))) return;
        }
    }

    Fields pick(const Fields& fields) const {
        Fields values;
        for (const auto index : indices_) values.push_back(fields[index]);
        return values;
    }

    void read_jsonl() {
        std::string line;
        for (bool first = true; lines_.next(line);) {
            const auto begin = line.find_first_not_of(" \t");
            if (begin == std::string::npos) continue;
            if (std::exchange(first, false) && line[begin] == '[') {
                result_.error =
                    request_.path + ":" + std::to_string(lines_.number()) + ":" + std::to_string(begin + 1) +
                    ": is a JSON array; expected one JSON object a line (`jq -c '.[]'` makes them)";
                return;
            }
            Fields values;
            const auto fault = lines_.too_long() ? too_long() : read_object(line, begin, values);
            if (!(fault.message.empty() ? hand_out(lines_.number(), std::move(values), line) : report(fault)))
                return;
        }
    }

    // `begin`: of what stands in the line.
    Fault read_object(const std::string& line, std::size_t begin, Fields& values) const {
        const auto number = lines_.number();
        const auto at_begin = [&](std::string message) {
            return Fault{std::move(message), {number, static_cast<std::int64_t>(begin) + 1}};
        };
        const auto parsed = base::parse_json(line);
        if (!parsed.fault.empty())
            return {"is " + parsed.fault + "; expected one JSON object a line", {number, parsed.column}};
        const auto& object = parsed.value;
        if (!object.is_object()) return at_begin("is " + base::kind_of(object) + "; expected a JSON object");
        for (const auto& column : request_.columns) {
            const auto found = object.find(column);
            if (found == object.end()) return at_begin("has no key '" + column + "'");
            if (found->is_structured() || found->is_null())
                return {
                    "has no text, number or boolean for '" + column + "'",
                    place_in({RowFormat::jsonl, line, {}, request_.columns}, number, values.size(), "", 0)};
            values.push_back(found->is_string() ? found->get<std::string>() : found->dump());
        }
        return {};
    }

    const RowRequest& request_;
    Lines lines_;
    std::vector<std::size_t> indices_;
    bool by_name_ = false;
    RowsRead result_;
};

}  // namespace

RowPlace Row::place(std::size_t value, std::size_t byte) const {
    return place_in(source, line, value, value < values.size() ? values[value] : "", byte);
}

std::optional<RowFormat> format_of(std::string_view path) {
    for (const std::string_view packed : {".gz", ".bz2", ".zst"}) {
        if (path.ends_with(packed)) path.remove_suffix(packed.size());
    }
    if (path.ends_with(".tsv")) return RowFormat::tsv;
    if (path.ends_with(".csv")) return RowFormat::csv;
    if (path.ends_with(".tab")) return RowFormat::tab;
    if (path.ends_with(".jsonl") || path.ends_with(".ndjson")) return RowFormat::jsonl;
    if (path.ends_with(".parquet")) return RowFormat::parquet;
    if (path.ends_with(".txt") || path.ends_with(".smi")) return RowFormat::text;
    return std::nullopt;
}

namespace {

// What `read` gives of the file; with nothing but an error where it cannot be read.
template <class Result>
Result read_file(const RowRequest& request, Result (Reader::*read)()) {
    Result result;
    auto source = request.standard_input ? standard_input_bytes(request.path, request.interrupted)
                                         : open_bytes(request.path, request.interrupted);
    if (!source.stream) {
        result.error = std::move(source.error);
        return result;
    }
    try {
        return (Reader(request, *source.stream).*read)();
    } catch (const std::ios_base::failure& failure) {
        result.error = request.path + ": " + read_failure(failure);
    } catch (const base::InputError& error) {
        result.error = error.what();
    }
    return result;
}

}  // namespace

RowsRead read_rows(const RowRequest& request) {
    if (request.format == RowFormat::parquet) return read_parquet_rows(request);
    return read_file(request, &Reader::run);
}

ColumnNames read_column_names(const std::string& path, RowFormat format) {
    if (format == RowFormat::parquet) return read_parquet_names(path);
    RowRequest request;
    request.path = path;
    request.format = format;
    return read_file(request, &Reader::names);
}

}  // namespace switchyard::data
