// Which columns of a table are asked for: by their names, or by number, "#0", "#1", ...
#pragma once

#include <string>
#include <vector>

namespace switchyard::data {

struct FoundColumns {
    std::vector<std::size_t> indices;  // of those asked for, in that order
    bool by_name = false;              // of one at least
    std::string fault;                 // "has no column 'c'; its columns are 'a', 'b'"; empty: all are there
    bool missing = false;              // the fault: one is not there
};

// Among the columns that the table has, as it has them.
FoundColumns find_columns(const std::vector<std::string>& wanted, const std::vector<std::string>& names);

}  // namespace switchyard::data
