// Many runs as one HTML page that needs nothing from outside: a row for each, with what differs between them,
// and all their scores.
#pragma once

#include <string>

#include "core/workbench/report/run_list.h"

namespace switchyard::report {

// The whole document, below 500 KB however many runs there are: the page says what it leaves out. Rows stand
// in the order of the list, which is that of the score `sorted_by`; "": the newest first.
std::string runs_page(const RunList& list, const std::string& sorted_by);

}  // namespace switchyard::report
