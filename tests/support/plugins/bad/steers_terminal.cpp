// Tries to steer the terminal: with what it prints when it is loaded, and with why it does not start.
#include "steers_terminal.h"

#include <cstdio>
#include <iostream>

namespace {
constexpr const char* steering =
    "\033]0;owned\007\033[35m\033[2J\xc2\x9b"
    "35m\xe2\x80\xae\r";
struct AtLoad {
    AtLoad() {
        std::puts(steering);
        std::cerr << steering << '\n';
    }
} at_load;
}  // namespace

int steer(const SwitchyardServices* services, char* error, uint32_t error_size) {
    if (services == nullptr) return 2;
    services->log(3, "test_steers_terminal", steering);
    std::snprintf(error, error_size, "no licence%s", steering);
    return 1;
}
