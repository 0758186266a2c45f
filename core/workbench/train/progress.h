// Progress for people: on a terminal one line that is rewritten, with a bar, rate, loss and time left;
// elsewhere a plain line now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace switchyard::train {

struct ProgressState {
    std::string phase;                // "train", "evaluate"
    std::int64_t done = 0;            // steps or batches
    std::int64_t total = 1;           // negative: not known, and not shown
    double samples_per_second = 0.0;  // 0: not known, and not shown; nor is the time left
    double loss = 0.0;                // smoothed; not shown if negative
    double seconds_left = 0.0;
    std::string note = {};  // at the end of the line
    double share = -1.0;    // of the work that is done, for the bar, where the total is not known; nor is it
                            // where negative
};

// One line, at most `width` columns: "train  120/2400 [====>      ] 58.2 samples/s  loss 0.4312  left 3:12".
std::string progress_line(const ProgressState& state, int width);

class Progress {
public:
    // Where it goes: standard error. `terminal`: whether that is one.
    // `plain_interval`: between two lines where it is none.
    static Progress for_stderr(std::chrono::seconds plain_interval = std::chrono::seconds(10));
    Progress(bool terminal, int width, std::chrono::seconds plain_interval = std::chrono::seconds(10))
        : terminal_(terminal), width_(width), plain_interval_(plain_interval) {}
    ~Progress() { finish(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void show(const ProgressState& state);
    // Ends the line, so that what is printed next stands on its own.
    void finish();

private:
    bool terminal_;
    int width_;
    std::chrono::seconds plain_interval_;
    bool open_line_ = false;
    std::chrono::steady_clock::time_point next_{};
};

}  // namespace switchyard::train
