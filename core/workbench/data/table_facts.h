// What a file of data looks like, as far as its first rows tell: its columns, how long their values are, and
// which different ones there are. For `switchyard init`, which makes a job of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/data/row_place.h"

namespace switchyard::data {

struct ColumnFacts {
    std::string name;
    std::int64_t rows = 0;
    std::int64_t empty = 0;
    double mean_bytes = 0.0;
    std::int64_t percent_95_bytes = 0;  // the least length that 95 % of the values do not exceed
    bool numbers = true;                // all values that are not empty
    bool whole_numbers = true;
    // How often each value is there; only while there are at most most_values different ones.
    std::map<std::string, std::int64_t> values;
    bool many_values = false;

    static constexpr std::size_t most_values = 100;
};

struct TableFacts {
    RowFormat format = RowFormat::text;
    std::vector<ColumnFacts> columns;  // of a text file the one column "text"
    std::int64_t rows = 0;             // that were looked at
    bool more = false;                 // there are others
    std::int64_t bad_rows = 0;         // malformed ones beside them
    std::string first_bad;             // line and column of the first of these, and what is wrong
    std::int64_t with_nul = 0;         // rows with NUL bytes, as text in UTF-16 has
    std::int64_t no_utf8 = 0;          // rows of invalid UTF-8
    std::string error;                 // the file cannot be read, or is of no known form
};

// Looks at the first `most_rows` rows. `format`: if not the one that its name tells.
TableFacts look_at(const std::string& path, std::optional<RowFormat> format = {},
                   std::int64_t most_rows = 100000);

}  // namespace switchyard::data
