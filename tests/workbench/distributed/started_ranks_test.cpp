// Ranks that are started in other ways than most tests do, or into what makes no sense, as a user sees it.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "launched_ranks.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// A port of the loopback on which somebody else listens, and says nothing.
class PortInUse {
public:
    PortInUse() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const plain = reinterpret_cast<sockaddr*>(&address);
        REQUIRE(::bind(socket_, plain, size) == 0);
        REQUIRE(::listen(socket_, 8) == 0);
        REQUIRE(::getsockname(socket_, plain, &size) == 0);
        number_ = ::ntohs(address.sin_port);
    }
    ~PortInUse() { ::close(socket_); }
    PortInUse(const PortInUse&) = delete;
    PortInUse& operator=(const PortInUse&) = delete;

    std::string number() const { return std::to_string(number_); }

private:
    int socket_;
    int number_ = 0;
};

}  // namespace

TEST_CASE("the command that is launched may stand behind two dashes") {
    const TinyJob job;
    const Words sets{"train.steps=2"};
    train_on(2, job, "plain", sets);
    const auto outcome = run(launched(job.train("dashes", sets), 2, {"--"}));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(summary_of(job, "dashes")["ranks"] == 2);
    CHECK(step_losses(job.run_folder("dashes")) == step_losses(job.run_folder("plain")));
    check_refused(run({"launch", "-n", "2", "--"}), {"expected the command that all processes run"});
    check_refused(run({"launch", "-n", "2", "--", "predict", "x"}),
                  {"train or bench ranks; got \"predict\""});
}

TEST_CASE("fewer samples to evaluate than ranks are told once, with exit code 2") {
    const TinyJob files;
    files.write("two.tsv", "text\tlabel\nthe film is bright\tgood\nthe plot is dull\tbad\n");
    check_refused_ranks({}, {{3,
                              {"data.eval=[\"" + files.file("two.tsv") + "\"]", "data.eval_fraction=0"},
                              "data.eval: 2 evaluation samples are fewer than the 3 ranks"}});
}

TEST_CASE("a rank that is not told where the first one is says which variable is missing") {
    const TinyJob job;
    RunOptions options;
    options.environment = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "1"}};
    check_refused(run(job.train("run"), options),
                  {"MASTER_ADDR is missing in the environment, which has WORLD_SIZE"});
    options.environment = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}};
    check_refused(run(job.train("run"), options),
                  {"MASTER_PORT is missing in the environment, which has WORLD_SIZE"});
    CHECK_FALSE(fs::exists(job.run_folder("run")));
}

TEST_CASE("a first rank whose port somebody else has says so once, and waits for nobody") {
    const TinyJob job;
    const PortInUse port;
    RunOptions options;
    options.environment = {
        {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port.number()}};
    const auto outcome = run(job.train("run", {"distributed.timeout=300"}), options);
    check_refused(outcome, {"port " + port.number() + " of this machine is in use"});
    CHECK(count_of(outcome.err, "error: ") == 1);
    CHECK_FALSE(fs::exists(job.run_folder("run")));
}

TEST_CASE("torchrun starts ranks again after one was killed, and they end as those that were not") {
    if (!in_path("torchrun")) return skip("torchrun is not in PATH");
    const TinyJob job;
    const auto killed = job.file("killed");  // is there once a rank was
    // The first rank cannot end before, since it waits for what reads its log.
    const auto log = job.write("log.sh", R"(cat >/dev/null
while [ ! -e "$1" ] && kill -0 $PPID 2>/dev/null; do sleep 0.01; done
)");
    const Words sets{"train.steps=12",      "train.checkpoint_every=2",
                     "train.keep_last=8",   "log.command=[\"/bin/sh\", \"" + log + "\", \"" + killed + "\"]",
                     "log.end_seconds=300", "distributed.timeout=300"};
    job.write("killed", "");
    train_on(2, job, "whole", sets);
    fs::remove(killed);
    const auto start = job.write("start.sh", R"(killed=$1 saved=$2
shift 2
if [ "$RANK" = 0 ] || [ -e "$killed" ]; then exec "$@"; fi
"$@" &
while kill -0 $! 2>/dev/null; do
  for step in "$saved"/step-*; do
    if [ -e "$step" ]; then kill -9 $!; : >"$killed"; fi
  done
  sleep 0.01
done
wait $!
)");
    const Words words{"torchrun",
                      "--standalone",
                      "--max-restarts",
                      "1",
                      "--no-python",
                      "--nproc-per-node",
                      "2",
                      "--",
                      "/bin/sh",
                      start,
                      killed,
                      job.run_folder("run") + "/checkpoints",
                      (build_dir() / "bin/switchyard").string()};
    const auto outcome = run_program(with(words, job.train("run", sets, {"--resume", "auto"})));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(fs::exists(killed));
    require_same_end(job.run_folder("whole"), job.run_folder("run"));
}
