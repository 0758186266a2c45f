// The program of [log] command: it gets on its standard input what a training writes down, as it does.
//
// A line of JSON each, at first what run it is, then every line of metrics.jsonl, at last the summary.
// Training never waits for it: what it does not take in time is dropped, and that it does not, or ends too
// early, is one warning. At its end it gets time to end as well, and is killed after that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <sys/types.h>

#include "core/kernel/base/json_text.h"
#include "core/kernel/config/config.h"
#include "core/workbench/train/run_directory.h"

namespace switchyard::cli {

class LogCommand {
public:
    LogCommand() = default;
    ~LogCommand();  // as end(), without the summary and without a word
    LogCommand(const LogCommand&) = delete;
    LogCommand& operator=(const LogCommand&) = delete;

    // Starts it where the configuration names one, and tells it of the run, which has done `step` steps. What
    // it prints goes into log_output.txt of the run. Throws Failure, with the place of the key, where it
    // cannot be started. Gives a warning, as line() does.
    std::string begin(const config::Config& config, const train::RunDirectory& run, std::int64_t step);
    // Gives a warning that was not given before; empty: none.
    std::string line(const base::Json& line);
    // The summary, the end of its input, and a limited wait for its own end. Gives warnings, each a line.
    std::string end(const base::Json& summary);

private:
    void write_waiting();
    void close_input();
    std::string end_input();
    std::string warning(const std::string& what) const;

    std::string name_, output_;
    double end_seconds_ = 0.0;
    pid_t process_ = -1;       // -1: there is none
    int input_ = -1;           // -1: it takes nothing any more
    std::string waiting_;      // of whole lines, perhaps without the beginning of the first
    std::size_t dropped_ = 0;  // lines
    bool warned_ = false;
};

}  // namespace switchyard::cli
