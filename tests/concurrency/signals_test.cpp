// Signals before the first step, where nothing is to be saved, and those that the program was told to ignore.
// Those of later: tests/workbench/cli/jobs/stop_test.cpp.
#include <csignal>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sanitized.h"
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

    // Can only be opened once there is a reader, which then waits for what is written.
    int writer_for(Started& reader) const {
        int writer = -1;
        REQUIRE(wait_until([&] {
            writer = open(file("rows.tsv").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
            return writer >= 0 || reader.ended();
        }));
        REQUIRE(writer >= 0);
        return writer;
    }
};

}  // namespace

TEST_CASE("a signal ends the program while it waits for its data to be opened") {
    if (!system_says_where_processes_wait()) return skip("the system does not say where a process waits");
    if (thread_sanitized) return skip("thread sanitizer keeps signals back while a file is being opened");
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
        const int writer = job.writer_for(started);
        started.send(signal);
        CHECK(started.wait().code == 128 + signal);
        CHECK_FALSE(fs::exists(job.run_folder("run")));
        close(writer);
    }
}

TEST_CASE("a signal that the program was started to ignore is ignored, as under nohup") {
    const FifoJob job;
    const auto rows = bytes_of(TinyJob().file("rows.tsv"));
    RunOptions options;
    options.in_child = [] { signal(SIGHUP, SIG_IGN); };
    Started started(job.train("run"), options);
    const int writer = job.writer_for(started);
    started.send(SIGHUP);
    // The pipe holds them all.
    CHECK(write(writer, rows.data(), rows.size()) == static_cast<ssize_t>(rows.size()));
    close(writer);
    const auto outcome = started.wait();
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(step_losses(job.run_folder("run")).size() == 8);
}
