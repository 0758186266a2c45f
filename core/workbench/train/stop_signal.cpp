#include "core/workbench/train/stop_signal.h"

#include <array>
#include <atomic>
#include <csignal>

#include <unistd.h>

#include "core/kernel/base/atomic_file.h"

namespace switchyard::train {
namespace {

constexpr std::array<int, 3> handled{SIGINT, SIGTERM, SIGHUP};
constexpr int by_parent = 0x100;   // beside a signal: whoever started this process sent it
std::atomic<int> first_signal{0};  // with by_parent
std::atomic<bool> repeated{false};
std::atomic<bool> noting{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler must not take a lock");
std::array<struct sigaction, handled.size()> previous;

void note_or_end(int signal, siginfo_t* info, void*) {
    if (!noting) {
        base::remove_asides();
        ::_exit(128 + signal);
    }
    const int told = signal + (info->si_pid == ::getppid() ? by_parent : 0);
    int first = 0;
    if (first_signal.compare_exchange_strong(first, told)) return;
    // A launcher hands on the signal that it and this process were both sent: that is one request.
    if (first == (told ^ by_parent) && !repeated.exchange(true)) return;
    base::remove_asides();
    // The raised signal is blocked until the handler returns; then it ends the process as it would have
    // without one.
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(signal, &action, nullptr);
    ::raise(signal);
}

}  // namespace

StopSignal::StopSignal() {
    first_signal = 0;
    repeated = noting = false;
    struct sigaction action {};
    action.sa_sigaction = note_or_end;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    for (const int signal : handled) sigaddset(&action.sa_mask, signal);
    for (std::size_t i = 0; i < handled.size(); ++i) {
        ::sigaction(handled[i], nullptr, &previous[i]);
        if (previous[i].sa_handler != SIG_IGN) ::sigaction(handled[i], &action, nullptr);
    }
}

StopSignal::~StopSignal() {
    for (std::size_t i = 0; i < handled.size(); ++i) ::sigaction(handled[i], &previous[i], nullptr);
}

void StopSignal::note() { noting = true; }
void StopSignal::end_at_once() { noting = false; }

int StopSignal::received() const { return first_signal & ~by_parent; }

}  // namespace switchyard::train
