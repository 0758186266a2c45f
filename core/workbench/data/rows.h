// Rows of a file: one column or several, asked for by name.
//
//   text   each line is a row with the one column "text"
//   tsv    columns between tabs, no quoting; the first line names them, or columns are "#0", "#1", ...
//   csv    RFC 4180: columns between commas, "quoted, with ""quotes"" and line ends"; header as above
//   tab    Orange's tables: as tsv, with two more lines under the first (types and roles of the columns)
//   jsonl  one JSON object a line; columns are its keys; numbers and booleans are taken as their text
//   parquet  columns of the outermost level (parquet/parquet_rows.h)
//
// A line, and a row of several lines, has at most limits::line_bytes; a longer one is malformed, and is
// passed over without being kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/types.h>
#include "core/workbench/data/row_place.h"

namespace switchyard::data {

// By the file's name, packing endings left aside: "reviews.csv.bz2" is csv. nullopt: unknown.
std::optional<RowFormat> format_of(std::string_view path);

struct Row {
    std::int64_t line = 0;            // 1-based, where the row starts; of Parquet: the number of the row
    std::vector<std::string> values;  // of the columns asked for, in that order
    RowText source = {};              // valid in RowRequest::on_row only

    // Of a byte of a value.
    RowPlace place(std::size_t value, std::size_t byte) const;
};

// Outcome of reading one file to its end.
struct RowsRead {
    std::int64_t rows = 0;  // handed out
    std::string
        error;  // the file cannot be read at all, or a column is not there; then no row was handed out
};

struct RowProblem {
    std::int64_t line = 0;  // with `column`: a place as RowPlace is
    std::string message;    // "has 2 columns, expected 3"
    std::int64_t column = 1;
};

struct RowRequest {
    std::string path;
    RowFormat format = RowFormat::text;
    std::vector<std::string> columns;
    // A row that is malformed. Return false to stop reading.
    std::function<bool(const RowProblem&)> on_problem;
    // Return false to stop reading.
    std::function<bool(Row&)> on_row;
    // Rows come from there, and `path` is what messages call it; no Parquet.
    bool standard_input = false;
    // Of open_bytes; what it cuts off may be half a row.
    std::function<bool()> interrupted = {};
};

RowsRead read_rows(const RowRequest& request);

struct ColumnNames {
    std::vector<std::string> names;  // of a text file "text"; of JSON the keys of the first line
    std::string error;               // "PATH...": the file cannot be read
};

// As the file names them.
ColumnNames read_column_names(const std::string& path, RowFormat format);

}  // namespace switchyard::data
