#include "core/kernel/base/stdout_redirect.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <mutex>

namespace switchyard::base {
namespace {

std::mutex mutex;
int depth = 0;
int kept = -1;  // the standard output, while it is turned aside

// What has been printed so far goes where it was meant to go.
void flush() noexcept {
    try {
        std::cout.flush();
    } catch (...) {  // only if somebody has asked the stream for exceptions
    }
    std::fflush(stdout);
}

// Above the descriptors that programs expect something of.
int duplicate(int descriptor) noexcept { return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 10); }

// Without a standard error there is nobody to tell.
void turn_aside() noexcept {
    if (::dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return;
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) return;
    ::dup2(nowhere, STDOUT_FILENO);
    ::close(nowhere);
}

}  // namespace

StdoutRedirect::StdoutRedirect() noexcept {
    const std::lock_guard lock(mutex);
    if (depth++ > 0) return;
    flush();
    kept = duplicate(STDOUT_FILENO);
    if (kept >= 0) turn_aside();
}

StdoutRedirect::~StdoutRedirect() noexcept {
    const std::lock_guard lock(mutex);
    if (--depth > 0 || kept < 0) return;
    flush();
    ::dup2(kept, STDOUT_FILENO);
    ::close(kept);
    kept = -1;
}

int redirect_stdout_for_good() noexcept {
    const std::lock_guard lock(mutex);
    flush();
    const int out = kept >= 0 ? kept : duplicate(STDOUT_FILENO);
    if (out >= 0 && kept < 0) turn_aside();
    kept = -1;
    return out;
}

}  // namespace switchyard::base
