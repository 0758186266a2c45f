// Works, but says in its init that it does not want to.
#include "refuses_init.h"

#include <cstdio>

int refuse(const SwitchyardServices* services, char* error, uint32_t error_size) {
    if (services == nullptr) return 2;
    services->log(1, "test_refuses_init", "asked to start");
    std::snprintf(error, error_size, "%s", "the licence has run out");
    return 1;
}
