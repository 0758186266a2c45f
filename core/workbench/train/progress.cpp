#include "core/workbench/train/progress.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <iostream>

#include <sys/ioctl.h>
#include <unistd.h>

#include "core/kernel/base/terminal.h"

namespace switchyard::train {
namespace {

constexpr auto terminal_interval = std::chrono::milliseconds(200);

__attribute__((format(printf, 1, 2))) std::string text(const char* format, ...) {
    std::array<char, 160> buffer{};
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(buffer.data(), buffer.size(), format, arguments);
    va_end(arguments);
    return buffer.data();
}

std::string clock_text(double seconds) {
    const auto whole = std::llround(std::max(0.0, seconds));
    if (whole >= 3600) return text("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    return text("%lld:%02lld", whole / 60, whole % 60);
}

std::string bar(double share, int columns) {
    const int filled = std::clamp(static_cast<int>(share * columns), 0, columns);
    std::string drawn(static_cast<std::size_t>(filled), '=');
    if (filled < columns) drawn += '>';
    drawn.resize(static_cast<std::size_t>(columns), ' ');
    return "[" + drawn + "]";
}

}  // namespace

std::string progress_line(const ProgressState& state, int width) {
    const bool counted = state.total >= 0;
    const auto total = std::max<std::int64_t>(1, state.total);
    const double share = counted ? static_cast<double>(state.done) / static_cast<double>(total) : state.share;
    std::string head = text("%-8s ", state.phase.c_str()) + std::to_string(state.done);
    if (counted) head += "/" + std::to_string(total);
    std::string tail;
    if (state.samples_per_second > 0.0) tail += text("  %.1f samples/s", state.samples_per_second);
    if (state.loss >= 0.0) tail += text("  loss %.4f", state.loss);
    if (state.samples_per_second > 0.0 && share >= 0.0) tail += "  left " + clock_text(state.seconds_left);
    if (!state.note.empty()) tail += "  " + state.note;
    const int room = width - static_cast<int>(head.size() + tail.size()) - 3;
    if (room >= 8 && share >= 0.0) head.append(" ").append(bar(share, std::min(room, 30)));
    return (head + tail).substr(0, static_cast<std::size_t>(std::max(0, width)));
}

Progress Progress::for_stderr(std::chrono::seconds plain_interval) {
    const bool terminal = ::isatty(STDERR_FILENO) != 0;
    struct winsize size {};
    const bool known = terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return {terminal, known ? size.ws_col - 1 : 100, plain_interval};
}

void Progress::show(const ProgressState& state) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_ && (state.total < 0 || state.done < state.total)) return;
    next_ = now + (terminal_ ? terminal_interval : std::chrono::milliseconds(plain_interval_));
    std::cerr << base::over_line << progress_line(state, width_) << (terminal_ ? "" : "\n") << std::flush;
    open_line_ = terminal_;
}

void Progress::finish() {
    if (open_line_) std::cerr << '\n';
    open_line_ = false;
    next_ = {};
}

}  // namespace switchyard::train
