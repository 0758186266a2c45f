// Works, and prints a lot, wherever it is called: what looks like the end of a probe's report, too.
#include "prints.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

void tell(const char* where) {
    std::printf("%s, by printf\n", where);
    std::cout << where << ", by cout\n";
    const std::string line = std::string(where) + ", by write\n";
    [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, line.data(), line.size());
}

int start_printing(const SwitchyardServices*, char*, uint32_t) {
    tell("init");
    return 0;
}

namespace {

struct Print {
    Print() {
        tell("load");
        std::puts("report\t{\"failure\":null,\"components\":[],\"milliseconds\":0,\"output\":\"\"}");
        for (int i = 0; i < 20000; ++i) std::fputs("no play\n", stderr);
    }
    ~Print() {
        tell("exit");
        std::puts("all work and no play");
    }
} at_load;

}  // namespace
