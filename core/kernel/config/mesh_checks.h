// What a mesh of ranks and the rest of a configuration do not allow each other.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/config.h"

namespace switchyard::config {

// Told at the first of the keys that was written.
struct Mistake {
    std::vector<std::string> keys;
    std::string message, expected;
};

// How many ranks there are is not known here.
std::vector<Mistake> mesh_mistakes(const Config& config);

}  // namespace switchyard::config
