// The runs below a folder, whatever state they are in.
#pragma once

#include <string>

#include "core/workbench/report/run_list.h"

namespace switchyard::cli {

// The folder itself where it holds a run, and those of its folders and of theirs that do, the newest first.
// What cannot be read is in the list, too, with what is wrong about it. Throws Failure where there is no such
// folder or no run in it.
report::RunList find_runs(const std::string& folder);

}  // namespace switchyard::cli
