// Ctrl-C, SIGTERM and SIGHUP, in every phase: a clean stop with a checkpoint, exit code 130, 143 or 129, and
// a resumption that ends as if nothing had been. To add a phase: a condition that holds while the program is
// in it, given to `stopped_when`.
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

Outcome stopped_when(const TinyJob& job, const std::string& name, const Words& sets, int signal,
                     const std::function<bool(const fs::path& folder)>& condition) {
    const fs::path folder = job.run_folder(name);
    Started started(job.train(name, sets));
    REQUIRE(wait_until(
        [&] { return started.ended() || (fs::exists(folder / "metrics.jsonl") && condition(folder)); }));
    started.send(signal);
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

// Holds some milliseconds after `begun` first does.
std::function<bool(const fs::path&)> shortly_after(std::function<bool(const fs::path&)> begun,
                                                   int milliseconds) {
    using Clock = std::chrono::steady_clock;
    auto since = std::make_shared<std::optional<Clock::time_point>>();
    return [=](const fs::path& folder) {
        if (!*since && begun(folder)) *since = Clock::now();
        return *since && Clock::now() - **since > std::chrono::milliseconds(milliseconds);
    };
}

void check_stopped(const fs::path& folder, const Outcome& outcome, int step) {
    const auto summary = json_of(folder / "summary.json");
    CHECK(summary["status"] == "stopped");
    CHECK(summary["steps"] == step);
    CHECK_THAT(outcome.err,
               contains("stopped after step " + std::to_string(step) + "; continue with --resume\n"));
    CHECK(outcome.out.empty());
    CHECK(json_of(folder / "checkpoints" / checkpoints(folder).back() / "state.json")["step"] == step);
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

// Enough to evaluate on that an evaluation takes a second.
Words much_evaluation(const TinyJob& job) {
    const auto rows = bytes_of(job.file("rows.tsv"));
    const auto header = rows.find('\n') + 1;
    std::string many = rows;
    for (int i = 0; i < 20; ++i) many += rows.substr(header);
    job.write("eval.tsv", many);
    return {"data.eval=[\"" + job.file("eval.tsv") + "\"]", "batch.size=2", "train.eval_every=2",
            "train.steps=4"};
}

}  // namespace

TEST_CASE("the first Ctrl-C, SIGTERM or SIGHUP stops cleanly with a checkpoint") {
    const TinyJob job;
    const Words sets{"train.steps=200", "train.grad_accumulation_steps=1", "train.keep_last=1"};
    job.trained("whole", sets);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const auto name = "stopped" + std::to_string(signal);
        const auto outcome =
            stopped_when(job, name, sets, signal, [](const auto& folder) { return has_step(folder, 7); });
        const fs::path folder = job.run_folder(name);
        const auto steps = json_of(folder / "summary.json")["steps"].get<int>();
        CHECK(steps >= 7);
        CHECK(steps < 200);
        check_stopped(folder, outcome, steps);
        job.trained(name, sets, {"--resume"});
        require_same_end(job.run_folder("whole"), folder);
    }
}

TEST_CASE("a second signal ends the program at once, and the last checkpoint stays whole") {
    const TinyJob job;
    const Words sets{"model.vocab_size=30000", "train.checkpoint_every=1", "train.steps=30"};
    job.trained("whole", sets);
    for (const bool saving : {false, true}) {
        const auto name = saving ? "saving" : "stepping";
        const fs::path folder = job.run_folder(name);
        Started started(job.train(name, sets));
        // It stands still while both are sent, so that neither finds it further on than the other.
        REQUIRE(wait_until([&] {
            if (checkpoints(folder).empty() || leftovers(folder).empty() == saving) return started.ended();
            if (!started.stop()) return true;
            if (leftovers(folder).empty() != saving) return true;
            started.send(SIGCONT);
            return false;
        }));
        REQUIRE_FALSE(started.ended());
        started.send(SIGINT);
        started.send(SIGTERM);
        started.send(SIGCONT);
        const auto outcome = started.wait();
        INFO(outcome.err);
        // Of two that wait, either may come first.
        CHECK((outcome.code == -SIGTERM || outcome.code == -SIGINT));
        CHECK_FALSE(fs::exists(folder / "summary.json"));
        job.trained(name, sets, {"--resume"});
        require_same_end(job.run_folder("whole"), folder);
    }
}

TEST_CASE("SIGTERM between two micro-batches goes back to the step before") {
    const TinyJob job;
    const Words sets{"train.steps=3", "train.grad_accumulation_steps=1000",
                     "batch.size=1"};  // a step is an epoch
    job.trained("whole", sets);
    int in_the_middle = 0;
    for (int attempt = 0; attempt < 10 && in_the_middle < 2; ++attempt) {
        const auto name = "stopped" + std::to_string(attempt);
        const auto outcome = stopped_when(
            job, name, sets, SIGTERM,
            shortly_after([](const auto& folder) { return has_step(folder, 1); }, 15 + 10 * attempt));
        const fs::path folder = job.run_folder(name);
        const auto summary = json_of(folder / "summary.json");
        const auto steps = summary["steps"].get<int>();
        const auto calls_of_a_step = tiny_layers * summary["rows"]["used"].get<std::int64_t>();
        check_stopped(folder, outcome, steps);
        if (attention_calls(summary) % calls_of_a_step != 0) ++in_the_middle;
        CHECK(attention_calls(summary) / calls_of_a_step == steps);
        job.trained(name, sets, {"--resume"});
        require_same_end(job.run_folder("whole"), folder);
    }
    CHECK(in_the_middle == 2);
}

TEST_CASE("a stop during an evaluation leaves it out, and the resumed run makes it") {
    const TinyJob job;
    const auto sets = much_evaluation(job);
    job.trained("whole", sets);
    for (const int step : {2, 4}) {
        const auto name = "stopped" + std::to_string(step);
        const fs::path folder = job.run_folder(name);
        const auto outcome =
            stopped_when(job, name, sets, SIGINT,
                         shortly_after([step](const auto& at) { return has_step(at, step); }, 20));
        check_stopped(folder, outcome, step);
        CHECK(json_of(folder / "summary.json")["eval"].is_null());
        CHECK_FALSE(eval_losses(folder).contains(step));
        job.trained(name, sets, {"--resume"});
        require_same_end(job.run_folder("whole"), folder);
    }
}

TEST_CASE("a stop during a save finishes the save") {
    const TinyJob job;
    const Words sets{"model.vocab_size=30000", "train.checkpoint_every=1"};
    const auto outcome = stopped_when(job, "stopped", sets, SIGTERM,
                                      [](const auto& folder) { return !leftovers(folder).empty(); });
    const fs::path folder = job.run_folder("stopped");
    check_stopped(folder, outcome, json_of(folder / "summary.json")["steps"].get<int>());
    job.trained("whole", sets);
    job.trained("stopped", sets, {"--resume"});
    require_same_end(job.run_folder("whole"), folder);
}
