// Rows of Parquet files. Columns are those of the outermost level, by name or number. Texts (and bytes that
// are UTF-8) are taken as they are, numbers and booleans as their text; what is null is a row that cannot be
// used, and a column of anything else an error. The place of a row is its number, and of a value in it that
// of its column.
#pragma once

#include <string>
#include <string_view>

#include "core/workbench/data/parquet/parquet_library.h"
#include "core/workbench/data/rows.h"

namespace switchyard::data {

// By its first bytes: "PAR1", and behind it a control character, with which the header of a page and the
// footer begin. A pipe is none.
bool is_parquet_file(const std::string& path);

// Of the columns that can be read.
ColumnNames read_parquet_names(const std::string& path, const std::string& library = parquet_library());

RowsRead read_parquet_rows(const RowRequest& request, const std::string& library = parquet_library());

}  // namespace switchyard::data
