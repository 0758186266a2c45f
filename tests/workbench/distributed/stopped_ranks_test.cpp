// Ranks that are asked to stop, in ways in which not all of them hear of it at once. To add one: a moment,
// and which processes get the signal.
#include <csignal>

#include "language_job.h"
#include "launched_ranks.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// Of a training that began in that folder.
void check_stopped_together(const Outcome& outcome, const fs::path& folder) {
    INFO(outcome.err);
    CHECK(outcome.code == 128 + SIGTERM);
    const auto summary = json_of(folder / "summary.json");
    CHECK(summary["status"] == "stopped");
    REQUIRE(has_checkpoint(folder));
    CHECK(json_of(folder / "checkpoints" / checkpoints(folder).back() / "state.json")["step"] ==
          summary["steps"]);
}

}  // namespace

TEST_CASE("a signal to one rank while answers are generated stops all after them, with a checkpoint") {
    const LanguageJob job;
    std::string english, german;
    for (int i = 0; i < 200; ++i) {
        english += "dog " + std::to_string(i) + "\n";
        german += "Hund " + std::to_string(i) + "\n";
    }
    job.files().write("a.en", english);
    job.files().write("a.de", german);
    const auto train = with_sets({"train", job.file("t5.toml"), "--run", job.file("run")},
                                 {"train.steps=100000", "train.eval_every=1", "train.eval_answers=200"});
    Started started(launched(train, 2));
    const fs::path folder = job.file("run");
    // Of 200 texts a rank evaluates 25 batches of 4; answers come next.
    REQUIRE(wait_until(
        [&] { return started.ended() || started.errors().find("evaluate 25/25") != std::string::npos; }));
    const auto ranks = ranks_of(started.process());
    REQUIRE(ranks.size() == 2);
    ::kill(ranks[1], SIGTERM);
    check_stopped_together(started.wait(), folder);
    for (const auto rank : ranks) CHECK_FALSE(is_alive(rank));
}

TEST_CASE("a signal to the launcher and to all ranks at once stops them with a checkpoint") {
    const TinyJob job;
    Started started(launched(job.train("run", {"train.steps=100000"}), 2));
    const fs::path folder = job.run_folder("run");
    REQUIRE(wait_until([&] { return started.ended() || !step_losses(folder).empty(); }));
    const auto ranks = ranks_of(started.process());
    REQUIRE(ranks.size() == 2);
    for (const auto rank : ranks) ::kill(rank, SIGTERM);
    started.send(SIGTERM);
    check_stopped_together(started.wait(), folder);
}

TEST_CASE("a training of which one rank was asked to stop is not started again, and that is no error") {
    const TinyJob job;
    Started started(launched(job.train("run", {"train.steps=100000"}), 2, {"--restarts", "2"}));
    const fs::path folder = job.run_folder("run");
    REQUIRE(wait_until([&] { return started.ended() || !step_losses(folder).empty(); }));
    const auto ranks = ranks_of(started.process());
    REQUIRE(ranks.size() == 2);
    ::kill(ranks[1], SIGTERM);
    const auto outcome = started.wait();
    check_stopped_together(outcome, folder);
    CHECK_THAT(outcome.err, !contains("error:") && !contains("starting all ranks again"));
}
