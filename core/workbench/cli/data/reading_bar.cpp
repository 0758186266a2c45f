#include "core/workbench/cli/data/reading_bar.h"

#include <algorithm>

namespace switchyard::cli {

ReadingBar::ReadingBar() : observer_([this](const data::ReadingProgress& at) { show(at); }) {}

void ReadingBar::show(const data::ReadingProgress& at) {
    const auto now = std::chrono::steady_clock::now();
    if (!reading_) {
        begun_ = now;
        progress_.clear();  // which begins to wait here
    }
    reading_ = !at.done;
    if (at.done) return progress_.clear();
    const double seconds = std::chrono::duration<double>(now - begun_).count();
    ProgressState state{"reading rows", at.rows, -1, 0.0, -1.0, 0.0};
    state.share = at.share;
    if (at.share > 0.0) state.seconds_left = seconds * (1.0 - at.share) / std::max(at.share, 1e-9);
    progress_.show(state);
}

}  // namespace switchyard::cli
