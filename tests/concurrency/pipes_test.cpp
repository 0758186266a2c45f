// Who watches a run may go, or stop reading: the run goes on all the same.
#include <csignal>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

struct Pipe {
    Pipe() { REQUIRE(pipe2(ends, O_CLOEXEC) == 0); }
    ~Pipe() {
        for (const int end : ends) close(end);
    }
    // Until it takes no byte more.
    void fill() const {
        const int flags = fcntl(ends[1], F_GETFL);
        fcntl(ends[1], F_SETFL, flags | O_NONBLOCK);
        const std::string page(4096, 'x');
        while (write(ends[1], page.data(), page.size()) > 0) {
        }
        while (write(ends[1], "x", 1) > 0) {
        }
        fcntl(ends[1], F_SETFL, flags);
    }
    void close_reader() {
        close(ends[0]);
        ends[0] = -1;
    }
    RunOptions as(const std::vector<int>& descriptors) const {
        RunOptions options;
        options.in_child = [this, descriptors] {
            for (const int descriptor : descriptors) dup2(ends[1], descriptor);
        };
        return options;
    }
    int ends[2] = {-1, -1};
};

}  // namespace

TEST_CASE("a run whose output nobody reads any more trains to its end") {
    const TinyJob job;
    job.trained("whole");
    int number = 0;
    for (const auto& closed : {std::vector{1}, std::vector{2}, std::vector{1, 2}}) {
        Pipe pipe;
        pipe.close_reader();
        const auto name = "run" + std::to_string(number++);
        const auto outcome = run(job.train(name), pipe.as(closed));
        INFO(outcome.err);
        CHECK(outcome.code == 0);
        require_same_end(job.run_folder("whole"), job.run_folder(name));
        CHECK(json_of(fs::path(job.run_folder(name)) / "summary.json")["status"] == "finished");
    }
}

TEST_CASE("a run whose messages nobody takes does not wait for them") {
    const TinyJob job;
    // Each step has something to say, and the validation data are known to training.
    const Words sets{"train.eval_every=1", "train.steps=30", "data.eval=[\"" + job.file("rows.tsv") + "\"]"};
    job.trained("whole", sets);
    const Pipe pipe;
    pipe.fill();
    CHECK(run(job.train("run", sets), pipe.as({2})).code == 0);
    require_same_end(job.run_folder("whole"), job.run_folder("run"));
}

TEST_CASE("a run that has ended and whose last line nobody takes is ended by a signal") {
    const TinyJob job;
    const Pipe pipe;
    pipe.fill();
    Started started(job.train("run"), pipe.as({1, 2}));
    const auto summary = fs::path(job.run_folder("run")) / "summary.json";
    REQUIRE(wait_until([&] { return started.ended() || fs::exists(summary); }));
    REQUIRE_FALSE(started.ended());
    started.send(SIGTERM);
    CHECK(started.wait().code == 143);
    CHECK(json_of(summary)["status"] == "finished");
}
