// Ranks of one machine as processes: started together, their output told line by line, ended together. None
// is left behind, however this process ends: the kernel kills them when it does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace switchyard::distributed {

struct Launch {
    std::vector<std::string> words;  // the program and its arguments, the same for all ranks
    std::int64_t ranks = 1;
    std::int64_t attempt = 0;      // how often they were started before
    double seconds_to_end = 10.0;  // that the others have, after one ended badly, before they are killed
};

struct LaunchHooks {
    // A line of a rank's output, without its end.
    std::function<void(std::int64_t rank, bool to_stderr, const std::string& line)> line;
};

struct LaunchResult {
    int exit_code = 0;  // of the first rank that ended badly; 128 + the signal that this process was sent
    int signal = 0;     // that this process was sent, and the ranks from it; 0: none
    // Of the first rank that ended badly: "rank 1 of 2 was killed by signal 9 (Killed)" and its last lines;
    // empty: all ended well, or were stopped, by this process or as one of them was asked to.
    std::string failure;
    bool killed = false;  // that rank, by a signal
    bool told = false;    // a rank printed an error
};

// Processors are shared out among the ranks. While it runs, SIGINT, SIGTERM and SIGHUP go to them. Throws
// std::runtime_error where they cannot be started; then none is.
LaunchResult launch(const Launch& launch, const LaunchHooks& hooks);

}  // namespace switchyard::distributed
