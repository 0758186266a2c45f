// Progress for people: on a terminal one line that is rewritten, with a bar, rate, loss and time left;
// elsewhere a plain line now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace switchyard::cli {

struct ProgressState {
    std::string phase;                // "train", "evaluate"
    std::int64_t done = 0;            // steps or batches; negative: not counted, and not shown
    std::int64_t total = 1;           // negative: not known, and not shown
    double samples_per_second = 0.0;  // 0: not known, and not shown; nor is the time left
    double loss = 0.0;                // smoothed; not shown if negative
    double seconds_left = 0.0;        // shown where there is a rate, or it is more than 0
    std::string note = {};            // at the end of the line
    double share = -1.0;  // of the work that is done, for the bar, where the total is not known; nor is it
                          // where negative
};

// One line, at most `width` columns: "train  120/2400 [====>      ] 58.2 samples/s  loss 0.4312  left 3:12".
std::string progress_line(const ProgressState& state, int width);

class Progress {
public:
    // What may be over soon shows nothing in its first second, and where there is no terminal in its first
    // half minute.
    enum class Begin { at_once, later };

    // Where it goes: standard error. `terminal`: whether that is one; elsewhere there is a line every half
    // minute.
    static Progress for_stderr(Begin begin = Begin::at_once);
    Progress(bool terminal, int width, Begin begin = Begin::at_once);
    ~Progress() { finish(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void show(const ProgressState& state);
    // Ends the line, so that what is printed next stands on its own. What is shown next begins anew.
    void finish();
    // Takes the line away.
    void clear();

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point first() const;

    bool terminal_;
    int width_;
    Begin begin_;
    bool open_line_ = false;
    Clock::time_point next_;
};

// What is being done, in place of what was shown before; "" takes it away. Of `text` the first line. `share`
// of all that is to be done; negative: not known. Where there is no terminal, a line every half minute.
void show_progress(const std::string& text, double share = -1.0, double seconds_left = 0.0);

}  // namespace switchyard::cli
