// Ranks that no launcher watches, of which one goes away, or should not be there, while another one waits for
// it where it would wait for an hour. To add a case: which rank, and what becomes of it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "hand_started.h"
#include "launched_ranks.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// A file of training data that its reader waits at.
class EndlessFile {
public:
    explicit EndlessFile(std::string path) : path_(std::move(path)) {
        if (::mkfifo(path_.c_str(), 0600) != 0) throw std::runtime_error("no pipe at " + path_);
    }
    ~EndlessFile() {
        if (writes_ >= 0) ::close(writes_);
    }
    EndlessFile(const EndlessFile&) = delete;
    EndlessFile& operator=(const EndlessFile&) = delete;

    const std::string& path() const { return path_; }
    // Whether somebody has begun to read it.
    bool is_read() {
        if (writes_ < 0) writes_ = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        return writes_ >= 0;
    }

private:
    std::string path_;
    int writes_ = -1;
};

}  // namespace

TEST_CASE("where a rank is killed or stopped the other one ends by itself, and names it") {
    const auto lost = GENERATE(0, 1);
    const auto signal = GENERATE(SIGKILL, SIGSTOP);
    INFO("rank " << lost << " gets signal " << signal);
    const TinyJob job;
    EndlessFile data(job.file("pipe.tsv"));
    const Words short_wait{"distributed.timeout=15"};
    const auto reads_for_ever = with(short_wait, {"data.train=[\"" + data.path() + "\"]"});
    HandStartedRanks ranks(2, {{job.train("run", lost == 0 ? reads_for_ever : short_wait), 0},
                               {job.train("run", lost == 1 ? reads_for_ever : short_wait), 1}});
    auto &gone = ranks[static_cast<std::size_t>(lost)], &other = ranks[static_cast<std::size_t>(1 - lost)];
    REQUIRE(wait_until([&] { return data.is_read() || gone.ended() || other.ended(); }));
    REQUIRE_FALSE(gone.ended());
    REQUIRE_FALSE(other.ended());
    gone.send(signal);
    const auto outcome = other.wait();
    INFO(outcome.err);
    CHECK(outcome.code == 1);
    CHECK(count_of(outcome.err, "error: ") == 1);
    CHECK_THAT(outcome.err, contains("error: rank " + std::to_string(lost)) &&
                                contains(lost == 0 ? "which all ranks meet at, is gone or does not answer"
                                                   : "is gone or does not answer, and left no word"));
}

TEST_CASE("two processes that are one rank are told once, by rank 0, and all end") {
    const TinyJob job;
    const auto words = job.train("run", {"distributed.timeout=300"});
    HandStartedRanks ranks(3, {{words, 0}, {words, 1}, {words, 1}});
    check_refused_together(ranks, {"rank 1: error: two processes say that they are rank 1 of 3"},
                           job.run_folder("run"));
}

TEST_CASE("a variable that all ranks of a machine lack is told once") {
    const TinyJob job;
    const auto words = job.train("run");
    const auto place = [](int rank) {
        return std::map<std::string, std::string>{{"LOCAL_RANK", std::to_string(rank)}, {"MASTER_PORT", ""}};
    };
    HandStartedRanks ranks(2, {{words, 0, place(0)}, {words, 1, place(1)}});
    check_refused_together(ranks, {"MASTER_PORT is missing in the environment"}, job.run_folder("run"));
}
