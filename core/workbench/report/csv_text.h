// Tables as CSV (RFC 4180), which spreadsheets and other programs read: lines end with CR LF, a cell with a
// comma, a quotation mark or a line's end stands within quotation marks.
//
// A text that a spreadsheet would take for a formula (it begins with = + - @, a tab or a carriage return,
// CWE-1236) has an apostrophe before it, and so has one that begins with an apostrophe: whoever reads the
// file takes one away.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace switchyard::report {

// One object for each row, all of the same keys: a line of these, then one for each row. Numbers in full, an
// empty cell for null; values are texts, numbers, true, false and null.
std::string csv_text(const std::vector<nlohmann::ordered_json>& rows);

}  // namespace switchyard::report
