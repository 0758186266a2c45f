// [[arm]]: what `switchyard compare` sets against each other; everything else leaves it alone.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/load.h"
#include "core/kernel/config/origin.h"

namespace switchyard::config {

struct ArmConfig {
    std::string name;                  // empty: made of the rest
    std::vector<std::string> set;      // "optimizer.lr=3e-4", as --set takes them
    std::vector<std::string> program;  // an external arm: a program and its arguments
    std::string folder;                // of the file that says so: the program runs there
    Origin origin;
};

// Of all files that the configuration is read from, in order. Mistakes in them are among the problems of
// load().
std::vector<ArmConfig> load_arms(const LoadRequest& request);

}  // namespace switchyard::config
