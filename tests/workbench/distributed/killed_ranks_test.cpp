// Two ranks, one of which is killed at drawn moments: nobody hangs, and what is gone on with ends with the
// bits of a training that nothing disturbed. A moment is processor time that the rank has used, so that it
// falls anywhere between its start and its end, however busy the machine is. SWITCHYARD_RANK_KILLS says
// how many kills there are; 3, unless it is set. SWITCHYARD_RANK_KILLS_SEED draws others than the usual ones,
// or those of an earlier run again. SWITCHYARD_RANK_KILLS_SET has values of the configuration, with a space
// between: how the ranks share the training.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "launched_ranks.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

using Nanoseconds = std::int64_t;
using Times = std::array<Nanoseconds, 2>;

Words saving() {
    Words sets{"train.steps=10", "train.checkpoint_every=1", "train.keep_last=20"};
    if (const char* const more = std::getenv("SWITCHYARD_RANK_KILLS_SET")) {
        std::istringstream words(more);
        for (std::string one; words >> one;) sets.push_back(one);
    }
    return sets;
}

// Of the thread that computes; 0: the process is gone.
Nanoseconds processor_time(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/schedstat");
    Nanoseconds time = 0;
    file >> time;
    return time;
}

// The ranks that are there once both are; none: they were not seen before the launcher ended.
std::vector<pid_t> both_ranks(Started& launcher) {
    std::vector<pid_t> ranks;
    wait_until([&] {
        ranks = ranks_of(launcher.process());
        return ranks.size() == 2 || launcher.ended();
    });
    return ranks.size() == 2 ? ranks : std::vector<pid_t>();
}

// What each rank needs from its start to its end, as far as it was seen.
Times train_undisturbed(const TinyJob& job, const std::string& run) {
    Started launcher(launched(job.train(run, saving()), 2));
    Times used{};
    const auto ranks = both_ranks(launcher);
    REQUIRE(wait_until([&] {
        for (std::size_t rank = 0; rank < ranks.size(); ++rank)
            used[rank] = std::max(used[rank], processor_time(ranks[rank]));
        return launcher.ended();
    }));
    REQUIRE(launcher.wait().code == 0);
    return used;
}

struct Kill {
    std::size_t rank = 0;
    double share = 0.0;  // of the processor time that it needs
};

// Whether the rank lived until then.
bool kill_at(Started& launcher, const std::vector<pid_t>& ranks, const Kill& kill, const Times& needed) {
    const auto moment = static_cast<Nanoseconds>(kill.share * static_cast<double>(needed[kill.rank]));
    bool reached = false;
    wait_until([&] {
        const auto used = processor_time(ranks[kill.rank]);
        reached = used > 0 && used >= moment;
        return reached || used == 0 || launcher.ended();
    });
    return reached && ::kill(ranks[kill.rank], SIGKILL) == 0;
}

}  // namespace

TEST_CASE("ranks that are killed at drawn moments end as those that were not") {
    const long wanted = from_environment("SWITCHYARD_RANK_KILLS", 3);
    const auto seed = static_cast<std::uint32_t>(from_environment("SWITCHYARD_RANK_KILLS_SEED", 1));
    std::mt19937 random(seed);
    std::cout << "drawn from seed " << seed << "\n";
    const TinyJob job;
    const auto needed = train_undisturbed(job, "whole");
    const fs::path folder = job.run_folder("run");
    long kills = 0;
    for (long run = 0; kills < wanted && run < 4 * wanted; ++run) {
        const Kill kill{random() % 2, std::uniform_real_distribution(0.0, 1.0)(random)};
        const bool restarts = random() % 2 == 0;
        INFO("seed " << seed << ", run " << run << ": rank " << kill.rank << " after " << 100.0 * kill.share
                     << " % of its processor time, " << (restarts ? "--restarts" : "--resume auto"));
        fs::remove_all(folder);
        Started launcher(
            launched(job.train("run", saving()), 2, restarts ? Words{"--restarts", "2"} : Words()));
        const auto ranks = both_ranks(launcher);
        const bool killed = !ranks.empty() && kill_at(launcher, ranks, kill, needed);
        auto outcome = launcher.wait();
        for (const auto rank : ranks) CHECK_FALSE(is_alive(rank));
        if (killed && !restarts && outcome.code != 0) {
            INFO(outcome.err);
            CHECK(outcome.code == 1);
            CHECK_THAT(outcome.err,
                       contains("error: rank " + std::to_string(kill.rank) + " of 2 was killed"));
            outcome = switchyard::test::run(launched(job.train("run", saving(), {"--resume", "auto"}), 2));
        }
        INFO(outcome.err);
        REQUIRE(outcome.code == 0);
        kills += killed ? 1 : 0;
        require_same_end(job.run_folder("whole"), folder);
    }
    CHECK(kills == wanted);
    std::cout << kills << " kills\n";
}
