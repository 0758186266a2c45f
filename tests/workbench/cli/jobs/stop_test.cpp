// Ctrl-C, SIGTERM and SIGHUP, in every phase: a clean stop with a checkpoint, exit code 130, 143 or 129, and
// a resumption that ends as if nothing had been. To add a phase: where it stands still (`stand_still`), or a
// call of a component that asks to stop (`stopped_in_call`).
#include <algorithm>
#include <csignal>

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

Outcome stopped_by(int signal, Started& started) {
    auto outcome = started.wait();
    INFO(outcome.err);
    REQUIRE(outcome.code == 128 + signal);
    return outcome;
}

// Whether the run has written down that step. Its file may end in the middle of a line.
bool has_step(const fs::path& folder, int step) {
    return bytes_of(folder / "metrics.jsonl").find("{\"step\":" + std::to_string(step) + ",") !=
           std::string::npos;
}

// Between two saves (or in one), once there is a checkpoint.
void stand_still_saving(Started& started, const fs::path& folder, bool saving) {
    REQUIRE(stand_still(started,
                        [&] { return !checkpoints(folder).empty() && leftovers(folder).empty() != saving; }));
}

// A job whose activation asks to stop in a call that the environment names.
TinyJob job_with_calls() {
    TinyJob job;
    job.write("job.toml", bytes_of(job.file("job.toml")) + "\n[plugins]\npaths = [\"" +
                              (build_dir() / "tests/support/plugins/asks_to_stop").string() + "\"]\n");
    return job;
}

const Words with_calls{"model.activation=relu", "activation.backend=ask_to_stop"};

Outcome stopped_in_call(const std::string& call, const TinyJob& job, const std::string& name,
                        const Words& sets) {
    Started started(job.train(name, sets), {.environment = {{"SWITCHYARD_TEST_STOP_IN_CALL", call}}});
    return stopped_by(SIGTERM, started);
}

void check_stopped(const fs::path& folder, const Outcome& outcome, std::int64_t step) {
    const auto summary = json_of(folder / "summary.json");
    CHECK(summary["status"] == "stopped");
    CHECK(summary["steps"] == step);
    CHECK_THAT(outcome.err,
               contains("stopped after step " + std::to_string(step) + "; continue with --resume\n"));
    CHECK(outcome.out.empty());
    CHECK(last_step(folder) == step);
    CHECK(leftovers(folder).empty());
    CHECK_FALSE(fs::exists(folder / "model"));
}

std::int64_t attention_calls(const nlohmann::json& summary) {
    std::int64_t calls = 0;
    for (const auto& row : summary["executed"]["attention"]) {
        if (row["phase"] == "train") calls += row["calls"].get<std::int64_t>();
    }
    return calls;
}

// Goes on with runs that ended early for some steps after the last of them: they end as one that did not.
void require_same_resumed(const TinyJob& job, const Words& names, const Words& sets) {
    std::int64_t last = 0;
    for (const auto& name : names) last = std::max(last, last_step(job.run_folder(name)));
    const auto to_the_end = with(sets, {"train.steps=" + std::to_string(last + 3)});
    job.trained("whole", to_the_end);
    for (const auto& name : names) {
        INFO(name);
        job.trained(name, to_the_end, {"--resume"});
        require_same_end(job.run_folder("whole"), job.run_folder(name));
    }
}

}  // namespace

TEST_CASE("the first Ctrl-C, SIGTERM or SIGHUP stops cleanly with a checkpoint") {
    const TinyJob job;
    const Words sets{endless, "train.grad_accumulation_steps=1", "train.keep_last=1"};
    Words names;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        names.push_back("stopped" + std::to_string(signal));
        const fs::path folder = job.run_folder(names.back());
        Started started(job.train(names.back(), sets));
        REQUIRE(wait_until([&] {
            return started.ended() || (fs::exists(folder / "metrics.jsonl") && has_step(folder, 7));
        }));
        started.send(signal);
        const auto outcome = stopped_by(signal, started);
        const auto steps = json_of(folder / "summary.json")["steps"].get<std::int64_t>();
        CHECK(steps >= 7);
        check_stopped(folder, outcome, steps);
    }
    require_same_resumed(job, names, sets);
}

TEST_CASE("a second signal ends the program at once, and the last checkpoint stays whole") {
    const TinyJob job;
    const Words sets{"model.vocab_size=30000", "train.checkpoint_every=1", endless};
    for (const bool saving : {false, true}) {
        const std::string name = saving ? "saving" : "stepping";
        const fs::path folder = job.run_folder(name);
        Started started(job.train(name, sets));
        // It stands still while both are sent, so that neither finds it further on than the other.
        stand_still_saving(started, folder, saving);
        started.send(SIGINT);
        started.send(SIGTERM);
        started.send(SIGCONT);
        const auto outcome = started.wait();
        INFO(outcome.err);
        // Of two that wait, either may come first.
        CHECK((outcome.code == -SIGTERM || outcome.code == -SIGINT));
        CHECK_FALSE(fs::exists(folder / "summary.json"));
    }
    require_same_resumed(job, {"stepping", "saving"}, sets);
}

TEST_CASE("SIGTERM between two micro-batches goes back to the step before") {
    const auto job = job_with_calls();
    // A step is an epoch of thirteen micro-batches, and each layer calls the activation.
    const auto sets = with(with_calls, {"train.steps=3", "train.grad_accumulation_steps=1000"});
    job.trained("whole", sets);
    constexpr std::int64_t micro_batches = 13;
    for (const std::int64_t last : {std::int64_t{1}, micro_batches - 1}) {
        const auto name = "stopped" + std::to_string(last);
        const fs::path folder = job.run_folder(name);
        const auto outcome =
            stopped_in_call(std::to_string(tiny_layers * (micro_batches + last)), job, name, sets);
        check_stopped(folder, outcome, 1);
        const auto summary = json_of(folder / "summary.json");
        CHECK(summary["rows"]["used"] == 4 * micro_batches);
        CHECK(attention_calls(summary) == tiny_layers * (micro_batches + last));
        job.trained(name, sets, {"--resume"});
        require_same_end(job.run_folder("whole"), folder);
    }
}

TEST_CASE("a stop during an evaluation leaves it out, and the resumed run makes it") {
    const auto job = job_with_calls();
    for (const std::int64_t step : {2, 4}) {
        const auto number = std::to_string(step), whole = "whole" + number, name = "stopped" + number;
        const auto sets = with(with_calls, {"train.eval_every=" + number, "train.steps=4"});
        job.trained(whole, sets);
        const fs::path folder = job.run_folder(name);
        const auto outcome = stopped_in_call("evaluation", job, name, sets);
        check_stopped(folder, outcome, step);
        CHECK(json_of(folder / "summary.json")["eval"].is_null());
        CHECK_FALSE(eval_losses(folder).contains(step));
        job.trained(name, sets, {"--resume"});
        require_same_end(job.run_folder(whole), folder);
    }
}

TEST_CASE("a stop during a save finishes the save") {
    const TinyJob job;
    const Words sets{"model.vocab_size=30000", "train.checkpoint_every=1", endless};
    const fs::path folder = job.run_folder("stopped");
    Started started(job.train("stopped", sets));
    stand_still_saving(started, folder, true);
    started.send(SIGTERM);
    started.send(SIGCONT);
    const auto outcome = stopped_by(SIGTERM, started);
    check_stopped(folder, outcome, json_of(folder / "summary.json")["steps"].get<std::int64_t>());
    require_same_resumed(job, {"stopped"}, sets);
}
