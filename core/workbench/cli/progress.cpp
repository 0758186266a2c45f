#include "core/workbench/cli/progress.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <iostream>

#include <sys/ioctl.h>
#include <unistd.h>

#include "core/kernel/base/terminal.h"

namespace switchyard::cli {
namespace {

constexpr auto terminal_interval = std::chrono::milliseconds(200);
constexpr auto plain_interval = std::chrono::seconds(30);
constexpr auto soon = std::chrono::seconds(1);

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
    std::string head = state.phase;
    head.resize(std::max<std::size_t>(head.size(), state.done >= 0 ? 8 : 0), ' ');
    if (state.done >= 0) head += " " + std::to_string(state.done);
    if (counted) head += "/" + std::to_string(total);
    std::string tail;
    if (state.samples_per_second > 0.0) tail += text("  %.1f samples/s", state.samples_per_second);
    if (state.loss >= 0.0) tail += text("  loss %.4f", state.loss);
    const bool timed = state.samples_per_second > 0.0 || state.seconds_left > 0.0;
    if (timed && share >= 0.0) tail += "  left " + clock_text(state.seconds_left);
    if (!state.note.empty()) tail += "  " + state.note;
    const int room = width - static_cast<int>(head.size() + tail.size()) - 3;
    if (room >= 8 && share >= 0.0) head.append(" ").append(bar(share, std::min(room, 30)));
    return (head + tail).substr(0, static_cast<std::size_t>(std::max(0, width)));
}

Progress Progress::for_stderr(Begin begin) {
    const bool terminal = ::isatty(STDERR_FILENO) != 0;
    struct winsize size {};
    const bool known = terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return {terminal, known ? size.ws_col - 1 : 100, begin};
}

Progress::Progress(bool terminal, int width, Begin begin)
    : terminal_(terminal), width_(width), begin_(begin), next_(first()) {}

Progress::Clock::time_point Progress::first() const {
    if (begin_ == Begin::at_once) return {};
    return Clock::now() + (terminal_ ? soon : plain_interval);
}

void Progress::show(const ProgressState& state) {
    const auto now = Clock::now();
    const bool last = state.total >= 0 && state.done >= state.total;
    if (now < next_ && (!last || begin_ == Begin::later)) return;
    next_ = now + (terminal_ ? terminal_interval : std::chrono::milliseconds(plain_interval));
    std::cerr << base::over_line << progress_line(state, width_) << (terminal_ ? "" : "\n") << std::flush;
    open_line_ = terminal_;
}

void Progress::finish() {
    if (open_line_) std::cerr << '\n';
    open_line_ = false;
    next_ = first();
}

void Progress::clear() {
    if (open_line_) std::cerr << base::over_line << std::flush;
    open_line_ = false;
    next_ = first();
}

void show_progress(const std::string& text, double share, double seconds_left) {
    static auto progress = Progress::for_stderr(Progress::Begin::later);
    if (text.empty()) return progress.clear();
    ProgressState state{text.substr(0, text.find('\n')), -1, -1, 0.0, -1.0, seconds_left};
    state.share = share;
    progress.show(state);
}

}  // namespace switchyard::cli
