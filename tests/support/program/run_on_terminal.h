// Runs the program that was built on a terminal, as a person sees it.
#pragma once

#include "run_switchyard.h"

namespace switchyard::test {

// Like run(), but standard output and error are one pseudo-terminal with colors, 110 columns wide: what it
// shows is `out`, byte for byte.
Outcome run_on_terminal(const std::vector<std::string>& arguments, const RunOptions& options = {});

}  // namespace switchyard::test
