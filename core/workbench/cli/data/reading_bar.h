// Shows how far the files of a job are read, where that lasts.
#pragma once

#include <chrono>

#include "core/workbench/cli/progress.h"
#include "core/workbench/data/reading_progress.h"

namespace switchyard::cli {

// While it lives, for all that is read on this thread.
class ReadingBar {
public:
    ReadingBar();

private:
    void show(const data::ReadingProgress& at);

    Progress progress_ = Progress::for_stderr(Progress::Begin::later);
    std::chrono::steady_clock::time_point begun_;
    bool reading_ = false;
    data::ReadingObserver observer_;
};

}  // namespace switchyard::cli
