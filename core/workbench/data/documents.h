// Texts as a language model takes them: rows of tables, paragraphs, whole files, folders of files, and lines
// of two files that belong together.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/data_config.h"
#include "core/workbench/data/rows.h"

namespace switchyard::data {

// A folder's files, those of the folders in it too, hidden ones left out, in the order of their names; of a
// pattern (file_pattern.h) all that match, folders likewise; otherwise `path` alone.
std::vector<std::string> files_of(const std::string& path);

// read_rows with the format that the file's name tells, or Parquet where its first bytes do. The error says
// so where they tell none, or where the file is empty.
RowsRead read_formatted_rows(RowRequest request);

// One row a text, with its first line. Paragraphs and files are of plain text, whose one column is "text";
// the lines of a text are joined with line ends.
RowsRead read_documents(RowRequest request, config::Documents documents);

// One row for each line of request.path and the same line of `targets`, both taken as plain text: {line, line
// of targets}.
RowsRead read_line_pairs(RowRequest request, const std::string& targets);

}  // namespace switchyard::data
