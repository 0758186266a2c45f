// What keys do not allow each other, as the checks of a configuration tell it.
#pragma once

#include <string>
#include <vector>

namespace switchyard::config {

// Told at the first of the keys that was written.
struct Mistake {
    std::vector<std::string> keys;
    std::string message, expected;
};

}  // namespace switchyard::config
