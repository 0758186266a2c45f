#include <switchyard/train/stop_signal.h>

#include <array>
#include <csignal>

namespace switchyard::train {
namespace {

constexpr std::array<int, 2> handled{SIGINT, SIGTERM};
volatile std::sig_atomic_t last_signal = 0;
std::array<struct sigaction, handled.size()> previous;

void note(int signal) { last_signal = signal; }

}  // namespace

StopSignal::StopSignal() {
    last_signal = 0;
    struct sigaction action {};
    action.sa_handler = note;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);  // the second one is not ours any more
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < handled.size(); ++i) ::sigaction(handled[i], &action, &previous[i]);
}

StopSignal::~StopSignal() {
    for (std::size_t i = 0; i < handled.size(); ++i) ::sigaction(handled[i], &previous[i], nullptr);
}

int StopSignal::received() const { return last_signal; }

}  // namespace switchyard::train
