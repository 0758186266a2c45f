// Signals before the first step, where nothing is to be saved, and those that the program was told to ignore.
// Those of later: tests/workbench/cli/jobs/stop_test.cpp.
#include <csignal>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tiny_job.h"
#include "waiting.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// A job whose rows come from a FIFO.
struct FifoJob : TinyJob {
    FifoJob() {
        fs::remove(file("rows.tsv"));
        REQUIRE(mkfifo(file("rows.tsv").c_str(), 0600) == 0);
    }
};

}  // namespace

TEST_CASE("a signal ends the program while it waits for its data to be opened") {
    if (!system_says_where_processes_wait()) return skip("the system does not say where a process waits");
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const FifoJob job;
        Started started(job.train("run"));
        REQUIRE(wait_until([&] { return started.ended() || waits_for_other_end(started.process()); }));
        REQUIRE_FALSE(started.ended());
        started.send(signal);
        CHECK(started.wait().code == 128 + signal);
        CHECK_FALSE(fs::exists(job.run_folder("run")));
    }
}

TEST_CASE("a signal ends the program while it reads its data") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const FifoJob job;
        Started started(job.train("run"));
        int writer = -1;  // can only be opened once there is a reader, which then waits for what never comes
        REQUIRE(wait_until([&] {
            writer = open(job.file("rows.tsv").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
            return writer >= 0 || started.ended();
        }));
        REQUIRE(writer >= 0);
        started.send(signal);
        CHECK(started.wait().code == 128 + signal);
        CHECK_FALSE(fs::exists(job.run_folder("run")));
        close(writer);
    }
}

TEST_CASE("a signal that the program was started to ignore is ignored, as under nohup") {
    const TinyJob job;
    const Words sets{"train.steps=60"};
    job.trained("whole", sets);
    RunOptions options;
    options.in_child = [] { signal(SIGHUP, SIG_IGN); };
    Started started(job.train("run", sets), options);
    const fs::path folder = job.run_folder("run");
    REQUIRE(wait_until([&] {
        return started.ended() ||
               (fs::exists(folder / "metrics.jsonl") && fs::file_size(folder / "metrics.jsonl") > 0);
    }));
    REQUIRE_FALSE(started.ended());
    started.send(SIGHUP);
    CHECK(started.wait().code == 0);
    require_same_end(job.run_folder("whole"), folder);
}
