#include "core/kernel/base/end_process.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace switchyard::base {
namespace {

std::string_view variable(const char* name) noexcept {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool ends_in_full() noexcept {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#else
    const auto asked = variable("SWITCHYARD_EXIT");
    if (asked == "quick") return false;
    return asked == "full" || !variable("LD_PRELOAD").empty() || !variable("CUDA_INJECTION64_PATH").empty();
#endif
}

}  // namespace

int end_process(int code) noexcept {
    if (ends_in_full()) return code;
    try {
        for (std::ostream* stream : {&std::cout, &std::cerr, &std::clog}) stream->flush();
    } catch (...) {  // only if somebody has asked a stream for exceptions
    }
    std::fflush(nullptr);
    ::_exit(code);
}

}  // namespace switchyard::base
