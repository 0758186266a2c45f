// What `switchyard compare` does once it is known what was asked for.
#pragma once

#include "core/workbench/cli/compare/compare_options.h"

namespace switchyard::cli {

// Checks, runs and writes a comparison. Returns the exit code. `options` outlive it.
int run_comparison(const CompareOptions& options);

}  // namespace switchyard::cli
