// `switchyard launch` and `switchyard train` as several ranks, as a user runs them. To add a case of bad
// input: a line in the table of that test.
#include <csignal>
#include <fstream>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include <unistd.h>

#include "json_schema.h"
#include "launched_ranks.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// Dropout by logical position, everywhere: LibTorch's own generator is another one on each rank.
const Words by_position{"attention.backend=naive", "normalization.backend=naive"};

// What another program, which is in PATH, makes of these words and of ours behind them.
Outcome run_by(Words words, const Words& train) {
    words.push_back((build_dir() / "bin/switchyard").string());
    words.insert(words.end(), train.begin(), train.end());
    return run_program(words);
}

void check_two_ranks(const TinyJob& job, const Outcome& outcome, const std::string& run) {
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    REQUIRE(job.trained("alone", with(by_position, {"batch.size=8"})).code == 0);
    const auto found = step_losses(job.run_folder(run));
    for (const auto& [step, loss] : step_losses(job.run_folder("alone")))
        CHECK(found.at(step) == Approx(loss).epsilon(1e-5));
}

void check_same_end(const TinyJob& job, const std::string& one, const std::string& other) {
    check_same_checkpoints(job, one, other, "step-00000008");
}

Words divided(const Words& sets, const std::string& batch, const std::string& shard, const Words& more = {}) {
    return with(with(sets, {"batch.size=" + batch, "distributed.shard=" + shard}), more);
}

// The run "cut", of two ranks, goes on with two to the same bits, and with three and one within rounding.
void check_goes_on(const TinyJob& job, const Words& sets, const std::string& shard, const Losses& expected) {
    struct Way {
        int ranks;
        std::string batch, shard;
    };
    for (const auto& [ranks, batch, now] : {Way{2, "6", shard}, Way{3, "4", shard}, Way{1, "12", "none"}}) {
        INFO(ranks << " ranks");
        const auto name = "from_" + std::to_string(ranks);
        fs::copy(job.run_folder("cut"), job.run_folder(name), fs::copy_options::recursive);
        const auto words =
            job.train(name, divided(sets, batch, now),
                      {"--resume", "--allow-change", "batch.size", "--allow-change", "distributed.shard"});
        const auto resumed = run(ranks == 1 ? words : launched(words, ranks));
        INFO(resumed.err);
        REQUIRE(resumed.code == 0);
        check_losses(step_losses(job.run_folder(name)), expected, ranks == 2 ? 0.0 : 1e-5);
    }
}

// How often the process has waited for something so far.
long waits_of(pid_t process) {
    const std::string key = "\nvoluntary_ctxt_switches:";
    const auto text = told_by_proc(process, "status");
    const auto at = text.find(key);
    return at == std::string::npos ? 0 : std::stol(text.substr(at + key.size()));
}

}  // namespace

TEST_CASE("two processes that are launched train as one does, and one of them writes and speaks") {
    const TinyJob job;
    const auto same = with(by_position, {"train.eval_every=4"});
    const auto both = run(launched(job.train("both", same), 2));
    INFO(both.err);
    REQUIRE(both.code == 0);
    const auto alone = job.trained("alone", with(same, {"batch.size=8"}));
    REQUIRE(alone.code == 0);
    const auto expected = step_losses(job.run_folder("alone"));
    const auto found = step_losses(job.run_folder("both"));
    REQUIRE(found.size() == expected.size());
    for (const auto& [step, loss] : expected) CHECK(found.at(step) == Approx(loss).epsilon(1e-5));
    const auto eval = eval_losses(job.run_folder("both"));
    for (const auto& [step, loss] : eval_losses(job.run_folder("alone")))
        CHECK(eval.at(step) == Approx(loss).epsilon(1e-5));
    CHECK(both.out.starts_with("[rank 0] "));
    CHECK(count_of(both.out, "steps, evaluation") == 1);
    CHECK_THAT(both.err, !contains("[rank 1]"));
    const auto summary = json_of(fs::path(job.run_folder("both")) / "summary.json");
    CHECK(summary["status"] == "finished");
    CHECK(summary["ranks"] == 2);
    CHECK(summary["eval"]["accuracy"] ==
          json_of(fs::path(job.run_folder("alone")) / "summary.json")["eval"]["accuracy"]);
}

TEST_CASE("the record of two ranks says how much of their sums lay behind backward") {
    const TinyJob job;
    const Words small_buckets{"distributed.bucket_mb=0.002"};
    const auto scaled = with(small_buckets, {"distributed.lr_scaling=linear"});
    const auto outcome = run(launched(job.train("both", scaled), 2));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK_THAT(outcome.out, contains("% of it hidden behind backward"));
    const auto folder = job.run_folder("both");
    const auto rates = lines_with(folder, "lr");
    CHECK(rates.size() == 8);
    for (const auto& [step, rate] : rates) CHECK(rate == 2e-3);
    const auto summary = json_of(fs::path(folder) / "summary.json");
    CHECK(schema_faults("summary.json", summary) == no_faults);
    const auto& found = summary.at("communication");
    CHECK(found["steps"] == summary["process_steps"].get<int>() - 1);
    CHECK(found["hidden"] >= 0.0);
    CHECK(found["hidden"] <= 1.0);
    CHECK(found["ms_a_step"] > 0.0);
    CHECK(found["backward_ms_a_step"] > 0.0);

    const auto plan = run_json({"plan", job.file("job.toml"), "--set", small_buckets[0], "--ranks", "2",
                                "--network", "1,20", "--step-ms", "10"});
    const auto& buckets = plan.at("ranks").at("steps").back().at("buckets");
    const auto& sums = found.at("typical_step").at("sums");
    REQUIRE(sums.size() == buckets.size());
    CHECK(sums.size() > 2);
    for (std::size_t i = 0; i < sums.size(); ++i) CHECK(sums[i]["bytes"] == buckets[i]["bytes"]);

    const auto page = fs::path(folder) / "report.html";
    REQUIRE(run({"report", folder, "--html", page.string()}).code == 0);
    CHECK_THAT(bytes_of(page), contains("Communication and backward") && contains("sum 1 goes on from"));
}

TEST_CASE("a run of two ranks that was stopped goes on to the same bits") {
    const TinyJob job;
    const Words sets{"train.steps=8", "train.checkpoint_every=3", "train.keep_last=5"};
    REQUIRE(run(launched(job.train("whole", sets), 2)).code == 0);
    REQUIRE(run(launched(job.train("cut", with(sets, {"train.steps=3"})), 2)).code == 0);
    fs::remove(fs::path(job.run_folder("cut")) / "model/model.safetensors");
    const auto resumed = run(launched(job.train("cut", sets, {"--resume"}), 2));
    INFO(resumed.err);
    REQUIRE(resumed.code == 0);
    CHECK(step_losses(job.run_folder("cut")) == step_losses(job.run_folder("whole")));
    check_same_end(job, "cut", "whole");
    const auto alone = run(job.train("cut", sets, {"--resume"}));
    CHECK(alone.code == 2);
    CHECK_THAT(alone.err, contains("in batches of 8") && contains("in batches of 4"));
}

TEST_CASE("a run goes on with more ranks, each of which has fewer threads for itself") {
    const TinyJob job;
    const Words sets{"runtime.threads=0", "train.checkpoint_every=3"};
    RunOptions two, one;
    two.environment["OMP_NUM_THREADS"] = "2";
    one.environment["OMP_NUM_THREADS"] = "1";
    const auto begun = run(job.train("run", with(sets, {"batch.size=8", "train.steps=3"})), two);
    INFO(begun.err);
    REQUIRE(begun.code == 0);
    const auto facts = json_of(fs::path(job.run_folder("run")) / "record.json")["facts"];
    CHECK(facts["ranks"] == 1);
    if (facts["threads"] != 2) return skip("two threads need two processors");
    // As many ranks, with other threads, have other bits than the record says.
    check_refused(run(job.train("run", with(sets, {"batch.size=8"}), {"--resume"}), one),
                  {"runtime.threads: was ", "--allow-change runtime.threads"});
    const auto resumed =
        run(launched(job.train("run", sets, {"--resume", "--allow-change", "batch.size"}), 2), one);
    INFO(resumed.err);
    REQUIRE(resumed.code == 0);
    CHECK_THAT(resumed.err, contains("from step 3 on: runtime.threads: was ") &&
                                contains("from step 3 on: ranks: was 1, is 2"));
    CHECK(summary_of(job, "run")["ranks"] == 2);
}

TEST_CASE("batches that a loader composes for each rank are gone on with on as many ranks alone") {
    const TinyJob job;
    const Words sets{"data_loader.backend=batching/bucketed", "train.checkpoint_every=3",
                     "train.keep_last=5"};
    REQUIRE(run(launched(job.train("whole", sets), 2)).code == 0);
    REQUIRE(run(launched(job.train("cut", with(sets, {"train.steps=3"})), 2)).code == 0);
    const Words resume{"--resume", "--allow-change", "batch.size"};
    check_refused(run(job.train("cut", with(sets, {"batch.size=8"}), resume)),
                  {"saved: data: ", " samples in batches of 4 on each of 2 ranks, shuffled",
                   "now:   data: ", " samples in batches of 8, shuffled"});
    const auto resumed = run(launched(job.train("cut", sets, {"--resume"}), 2));
    INFO(resumed.err);
    REQUIRE(resumed.code == 0);
    CHECK(step_losses(job.run_folder("cut")) == step_losses(job.run_folder("whole")));
    check_same_end(job, "cut", "whole");
}

TEST_CASE("ranks that divide the state of the optimizer train to the same bits, and any number goes on") {
    const TinyJob job;
    const auto sets = with(by_position, {"train.steps=8", "train.checkpoint_every=3", "train.keep_last=5",
                                         "optimizer.max_grad_norm=0"});
    REQUIRE(run(launched(job.train("whole", divided(sets, "6", "none")), 2)).code == 0);
    const auto outcome = run(launched(job.train("divided", divided(sets, "6", "optimizer")), 2));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const auto memory = [&](const std::string& run) {
        return json_of(fs::path(job.run_folder(run)) / "summary.json")["memory"]["optimizer"].get<double>();
    };
    CHECK(memory("divided") / memory("whole") == Approx(0.5).margin(0.02));
    check_same_end(job, "divided", "whole");
    REQUIRE(run(launched(job.train("cut", divided(sets, "6", "optimizer", {"train.steps=3"})), 2)).code == 0);
    check_goes_on(job, sets, "optimizer", step_losses(job.run_folder("whole")));
}

TEST_CASE("ranks that divide the model keep half of it each, and any number goes on") {
    const TinyJob job;
    const auto sets = with(by_position, {"train.steps=8", "train.checkpoint_every=3", "train.keep_last=5"});
    REQUIRE(run(job.train("alone", divided(sets, "12", "none"))).code == 0);
    const auto outcome = run(launched(job.train("divided", divided(sets, "6", "full")), 2));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const auto memory = [&](const std::string& run) {
        const auto told = json_of(fs::path(job.run_folder(run)) / "summary.json")["memory"];
        return told["parameters"].get<double>() + told["gradients"].get<double>() +
               told["optimizer"].get<double>();
    };
    CHECK(memory("divided") / memory("alone") < 0.55);
    REQUIRE(run(launched(job.train("cut", divided(sets, "6", "full", {"train.steps=3"})), 2)).code == 0);
    const auto undisturbed = step_losses(job.run_folder("divided"));
    check_losses(step_losses(job.run_folder("alone")), undisturbed, 1e-5);
    check_goes_on(job, sets, "full", undisturbed);
    check_same_end(job, "divided", "from_2");
}

TEST_CASE("a launched training goes on where whoever read its output has gone") {
    const TinyJob job;
    RunOptions options;
    options.in_child = [] {
        int ends[2];
        if (pipe(ends) != 0) return;
        close(ends[0]);
        for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(ends[1], stream);
    };
    CHECK(run(launched(job.train("run"), 2), options).code == 0);
    CHECK(summary_of(job, "run")["status"] == "finished");
}

TEST_CASE("no rank leaves before the first one has done everything") {
    const TinyJob job;
    // The first rank waits for this program, which ends when the test says so.
    const auto script = job.write(
        "log.sh",
        "cat >/dev/null\nwhile [ ! -e \"$1\" ] && kill -0 $PPID 2>/dev/null; do sleep 0.01; done\n");
    const auto word = job.file("word");
    Started started(launched(
        job.train("run",
                  {"log.command=[\"/bin/sh\", \"" + script + "\", \"" + word + "\"]", "log.end_seconds=300"}),
        2));
    const fs::path folder = job.run_folder("run");
    REQUIRE(wait_until([&] { return started.ended() || fs::exists(folder / "summary.json"); }));
    const auto ranks = ranks_of(started.process());
    REQUIRE(ranks.size() == 2);
    // The other one asks again and again whether the first has come.
    const auto before = waits_of(ranks[1]);
    CHECK(wait_until([&] { return !is_alive(ranks[1]) || waits_of(ranks[1]) > before + 20; }));
    CHECK(is_alive(ranks[1]));
    job.write("word", "");
    const auto outcome = started.wait();
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.err, !contains("log.command"));
}

TEST_CASE("a finished run of two ranks that is resumed ends well") {
    const TinyJob job;
    REQUIRE(run(launched(job.train("run"), 2)).code == 0);
    const auto again = run(launched(job.train("run", {}, {"--resume"}), 2));
    INFO(again.err);
    CHECK(again.code == 0);
    CHECK(count_of(again.err, "is finished, after 8 steps; nothing was changed") == 1);
}

TEST_CASE("when a rank is killed all end, and the launcher says which") {
    const TinyJob job;
    const auto killed = GENERATE(0, 1);
    Started started(launched(job.train("run", {"train.steps=100000"}), 2));
    const fs::path folder = job.run_folder("run");
    REQUIRE(wait_until([&] { return started.ended() || !step_losses(folder).empty(); }));
    const auto ranks = ranks_of(started.process());
    REQUIRE(ranks.size() == 2);
    ::kill(ranks[static_cast<std::size_t>(killed)], SIGKILL);
    const auto outcome = started.wait();
    INFO(outcome.err);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err,
               contains("error: rank " + std::to_string(killed) + " of 2 was killed by signal 9 (Killed)"));
    for (const auto rank : ranks) CHECK_FALSE(is_alive(rank));
}

TEST_CASE("a rank that stands still is named by the first one, and killed") {
    const TinyJob job;
    Started started(launched(job.train("run", {"train.steps=100000", "distributed.timeout=15"}), 2));
    const fs::path folder = job.run_folder("run");
    REQUIRE(wait_until([&] { return started.ended() || !step_losses(folder).empty(); }));
    const auto ranks = ranks_of(started.process());
    REQUIRE(ranks.size() == 2);
    ::kill(ranks[1], SIGSTOP);
    const auto outcome = started.wait();
    INFO(outcome.err);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, contains("error: rank 1 is gone or does not answer"));
    for (const auto rank : ranks) CHECK_FALSE(is_alive(rank));
}

TEST_CASE("what a killed rank leaves is gone on with, to the same bits") {
    const TinyJob job;
    const Words sets = {"train.steps=12", "train.checkpoint_every=2", "train.keep_last=8"};
    REQUIRE(run(launched(job.train("whole", sets), 2)).code == 0);
    Started started(launched(job.train("run", sets), 2, {"--restarts", "2"}));
    const fs::path folder = job.run_folder("run");
    REQUIRE(wait_until([&] { return started.ended() || has_checkpoint(folder); }));
    const auto ranks = ranks_of(started.process());
    if (!ranks.empty()) ::kill(ranks.back(), SIGKILL);
    const auto outcome = started.wait();
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    require_same_end(job.run_folder("whole"), job.run_folder("run"));
}

TEST_CASE("no rank is left behind when the launcher is killed, and none when it is stopped") {
    const TinyJob job;
    const auto signal = GENERATE(SIGKILL, SIGTERM, SIGINT);
    Started started(launched(job.train("run", {"train.steps=100000"}), 2));
    const fs::path folder = job.run_folder("run");
    REQUIRE(wait_until([&] { return started.ended() || !step_losses(folder).empty(); }));
    const auto ranks = ranks_of(started.process());
    REQUIRE(ranks.size() == 2);
    started.send(signal);
    const auto outcome = started.wait();
    INFO(outcome.err);
    CHECK(outcome.code == (signal == SIGKILL ? -SIGKILL : 128 + signal));
    CHECK(wait_until([&] { return !is_alive(ranks[0]) && !is_alive(ranks[1]); }));
    if (signal == SIGKILL) return;
    CHECK(json_of(folder / "summary.json")["status"] == "stopped");
    CHECK(has_checkpoint(folder));
}

TEST_CASE("bad input of a launched training is told once, with exit code 2") {
    const TinyJob job;
    job.write("two.tsv", "text\tlabel\nthe film is bright\tgood\nthe plot is dull\tbad\n");
    struct Case {
        int ranks;
        Words sets;
        std::string text;
    };
    const std::vector<Case> cases{
        {2, {"optimizer.lrr=1"}, "optimizer.lrr"},
        {2, {"data.train=[\"nowhere.tsv\"]"}, "nowhere.tsv"},
        {2, {"distributed.timeout=0"}, "distributed.timeout"},
        {2, {"distributed.interface=wlan77"}, "no network interface \"wlan77\""},
        {2,
         {"data_loader.drop_last=true", "batch.size=40"},
         "no batch of 52 samples for each of 2 ranks; expected a batch.size of at most 26"},
        {3,
         {"data.train=[\"" + job.file("two.tsv") + "\"]", "data.eval_fraction=0"},
         "2 training samples are fewer than the 3 ranks"}};
    for (const auto& one : cases) {
        INFO(one.text);
        const auto outcome = run(launched(job.train("bad", one.sets), one.ranks));
        INFO(outcome.err);
        CHECK(outcome.code == 2);
        CHECK_THAT(outcome.err, contains(one.text));
        CHECK(count_of(outcome.err, "error: ") == 1);
        CHECK(outcome.out.empty());
        CHECK_FALSE(fs::exists(job.run_folder("bad")));
    }
}

TEST_CASE("ranks that are launched say what network they are") {
    const TinyJob job;
    const auto file = job.file("network.json");
    const Words words{"launch", "-n", "2", "bench", "ranks", "--repeats", "5", "--megabytes", "0.01,2"};
    const auto told = run(with(words, Words{"--json", file}));
    INFO(told.err);
    REQUIRE(told.code == 0);
    CHECK_THAT(told.out, contains("sums over 2 ranks") && !contains("[rank 1]"));
    const auto json = json_of(file);
    CHECK(schema_faults("bench_ranks.json", json) == no_faults);
    REQUIRE(json["sums"].size() == 2);
    CHECK(json["sums"][1]["bytes"] == 2'000'000);
    check_refused(run({"bench", "ranks"}), {"this is one process", "switchyard launch -n 2 bench ranks"});
    check_refused(run(with(words, Words{"--set", "distributed.backend=mpi"})), {"distributed.backend"});
    check_refused(run({"launch", "-n", "2", "--restarts", "1", "bench", "ranks"}),
                  {"--restarts: bench ranks"});
}

TEST_CASE("bad arguments of launch are refused") {
    const TinyJob job;
    check_refused(run({"launch", "-n", "0", "train", "x.toml"}), {"-n", "from 1 to 1024, got 0"});
    check_refused(run({"launch", "-n", "2"}), {"expected the command that all processes run"});
    check_refused(run({"launch", "-n", "2", "predict", "x"}), {"train or bench ranks; got \"predict\""});
    check_refused(run({"launch", "-n", "2", "--restarts", "-1", "train", "x"}), {"--restarts"});
}

TEST_CASE("a rank whose environment makes no sense is refused") {
    const TinyJob job;
    RunOptions options;
    options.environment = {
        {"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "1"}};
    check_refused(run(job.train("run"), options), {"RANK", "got 2, but WORLD_SIZE is 2"});
    options.environment["RANK"] = "1";
    check_refused(run(job.train("run", {"distributed.timeout=0.2"}), options),
                  {"rank 1 of 2 cannot reach rank 0 at 127.0.0.1:1"});
    options.environment["WORLD_SIZE"] = "1";
    options.environment["RANK"] = "0";
    CHECK(run(job.train("run", {"train.steps=1"}), options).code == 0);
}

TEST_CASE("torchrun starts ranks") {
    if (!in_path("torchrun")) return skip("torchrun is not in PATH");
    const TinyJob job;
    // Without "--" torchrun takes --run for a shortened option of its own.
    const auto outcome = run_by({"torchrun", "--standalone", "--no-python", "--nproc-per-node", "2", "--"},
                                job.train("torchrun", by_position));
    check_two_ranks(job, outcome, "torchrun");
}

TEST_CASE("mpirun starts ranks") {
    if (!in_path("mpirun")) return skip("mpirun is not in PATH");
    const TinyJob job;
    const auto outcome = run_by({"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"},
                                job.train("mpirun", by_position));
    check_two_ranks(job, outcome, "mpirun");
}
