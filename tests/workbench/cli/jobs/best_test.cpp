// Runs that keep their best checkpoint, and end where it does not get better; and what RUN@best, RUN@last,
// RUN@step-N and a run that was stopped are to predict. Which evaluation must be the best is read from
// metrics.jsonl.
#include "json_schema.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// A rate so high that the loss goes up and down.
const Words restless{"train.steps=8",     "train.eval_every=1", "train.keep_best=eval.loss",
                     "train.keep_last=1", "optimizer.lr=0.02",  "train.grad_accumulation_steps=1"};

Words and_also(Words sets, const Words& more) {
    sets.insert(sets.end(), more.begin(), more.end());
    return sets;
}

// The step of the lowest loss, the first of equal ones, up to `last`.
std::int64_t lowest(const fs::path& run, std::int64_t last = 1000) {
    std::int64_t best = 0;
    const auto losses = eval_losses(run);
    for (const auto& [step, loss] : losses) {
        if (step <= last && (best == 0 || loss < losses.at(best))) best = step;
    }
    return best;
}

std::string folder_of(std::int64_t step) { return "step-0000000" + std::to_string(step); }

nlohmann::json best_of(const fs::path& run) { return json_of(run / "checkpoints/best.json"); }

nlohmann::json predicted(const std::string& run, const Words& more = {}) {
    return run_json(and_also({"predict", run, "the film is lovely", "a dull plot"}, more))["predictions"];
}

}  // namespace

TEST_CASE("the best checkpoint is kept beside the newest one, and told at the end") {
    const TinyJob job;
    const auto outcome = job.trained("run", restless);
    const fs::path folder = job.run_folder("run");
    const auto best = lowest(folder);
    INFO("the best is step " << best);
    REQUIRE(best < 8);
    const auto summary = json_of(folder / "summary.json");
    CHECK(JsonSchema(source_dir() / "docs/schema/summary.json").faults(summary) == Words{});
    const nlohmann::json expected{
        {"step", best}, {"metric", "eval.loss"}, {"value", eval_losses(folder).at(best)}};
    CHECK(summary["best"] == expected);
    CHECK_FALSE(summary.contains("stopped_early"));
    CHECK(best_of(folder) == expected);
    CHECK(checkpoints(folder) == Words{folder_of(best), folder_of(8)});
    CHECK_THAT(outcome.out, contains("best: eval.loss ") && contains(" at step " + std::to_string(best) +
                                                                     ", " + folder.string() + "@best\n"));
    REQUIRE(run({"report", folder.string()}).code == 0);
    CHECK_THAT(bytes_of(folder / "report.html"), contains("Best eval.loss"));

    // Nothing that is learnt hangs on it.
    job.trained("plain", {"train.steps=8", "train.eval_every=1", "optimizer.lr=0.02",
                          "train.grad_accumulation_steps=1"});
    CHECK(step_losses(job.run_folder("plain")) == step_losses(folder));
    CHECK_FALSE(json_of(fs::path(job.run_folder("plain")) / "summary.json").contains("best"));
}

TEST_CASE("a run that is cut at any step and resumed has the same best as one that was not") {
    const TinyJob job;
    job.trained("whole", restless);
    const fs::path whole = job.run_folder("whole");
    for (const char* const steps : {"1", "2", "4", "6"}) {
        INFO("cut after step " << steps);
        const auto name = std::string("cut") + steps;
        const fs::path cut = job.run_folder(name);
        job.trained(name, and_also(restless, {std::string("train.steps=") + steps}));
        CHECK(best_of(cut)["step"] == lowest(whole, std::stoi(steps)));
        fs::remove_all(cut / "model");
        job.trained(name, restless, {"--resume"});
        CHECK(best_of(cut) == best_of(whole));
        CHECK(checkpoints(cut) == checkpoints(whole));
        CHECK(eval_losses(cut) == eval_losses(whole));
        CHECK(json_of(cut / "summary.json")["best"] == json_of(whole / "summary.json")["best"]);
    }
}

TEST_CASE("where the best checkpoint is gone the next best is chosen, and that is said") {
    const TinyJob job;
    job.trained("run", restless);
    const fs::path folder = job.run_folder("run");
    const auto best = lowest(folder);
    REQUIRE(best < 8);
    fs::remove_all(folder / "checkpoints" / folder_of(best));
    check_refused(run({"predict", folder.string() + "@best", "a film"}),
                  {folder.string() + "@best: error: there is no checkpoint of step " + std::to_string(best) +
                   "; expected one of " + folder.string() + "@step-8"});
    const auto outcome = job.trained("run", and_also(restless, {"train.steps=10"}), {"--resume"});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.err, contains("has no checkpoint of step " + std::to_string(best) +
                                     ", the best so far by eval.loss"));
    CHECK(best_of(folder)["step"] >= 8);
}

TEST_CASE("training ends when patience does, and a resumption does not go on before it is raised") {
    const TinyJob job;
    const auto patient = and_also(restless, {"train.patience=2", "train.steps=100"});
    const auto outcome = job.trained("run", patient);
    INFO(outcome.err);
    const fs::path folder = job.run_folder("run");
    const auto summary = json_of(folder / "summary.json");
    const std::int64_t steps = summary["steps"];
    REQUIRE(steps < 100);
    CHECK(summary["status"] == "finished");
    CHECK(summary["stopped_early"] == true);
    CHECK(JsonSchema(source_dir() / "docs/schema/summary.json").faults(summary) == Words{});
    CHECK(lowest(folder) == steps - 2);
    CHECK(best_of(folder)["step"] == steps - 2);
    CHECK(fs::exists(folder / "model/model.safetensors"));
    CHECK(json_of(folder / "checkpoints" / checkpoints(folder).back() / "state.json")["step"] == steps);
    const auto told = "stopped early after step " + std::to_string(steps) +
                      ": eval.loss did not get better in 2 evaluations (train.patience); to go on, raise "
                      "train.patience and resume\n";
    CHECK_THAT(outcome.err, contains(told));

    const auto before = eval_losses(folder);
    const auto again = job.trained("run", patient, {"--resume"});
    CHECK(again.code == 0);
    CHECK_THAT(again.err, contains(told));
    CHECK(json_of(folder / "summary.json")["process_steps"] == 0);
    CHECK(eval_losses(folder) == before);

    const auto more = std::to_string(steps + 1);
    const auto raised =
        job.trained("run", and_also(restless, {"train.patience=50", "train.steps=" + more}), {"--resume"});
    CHECK(raised.code == 0);
    const auto last = json_of(folder / "summary.json");
    CHECK(last["steps"] == steps + 1);
    CHECK(last["stopped_early"] == false);
}

TEST_CASE("patience is counted on where a run was cut") {
    const TinyJob job;
    const auto patient = and_also(restless, {"train.patience=2", "train.steps=100"});
    job.trained("whole", patient);
    const fs::path whole = job.run_folder("whole"), cut = job.run_folder("cut");
    const int steps = json_of(whole / "summary.json")["steps"];
    REQUIRE(steps < 100);
    job.trained("cut", and_also(patient, {"train.steps=" + std::to_string(steps - 1)}));
    CHECK(json_of(cut / "summary.json")["stopped_early"] == false);
    fs::remove_all(cut / "model");
    job.trained("cut", patient, {"--resume"});
    CHECK(json_of(cut / "summary.json")["steps"] == steps);
    CHECK(best_of(cut) == best_of(whole));
    CHECK(checkpoints(cut) == checkpoints(whole));
}

TEST_CASE("a checkpoint of a run predicts as the run did when it was saved") {
    const TinyJob job;
    const auto policy = GENERATE("torch/fp32", "amp/bf16_pure");
    INFO(policy);
    const auto sets = and_also(restless, {std::string("precision.backend=") + policy});
    job.trained("run", and_also(sets, {"train.keep_last=100", "train.checkpoint_every=1"}));
    const auto run_name = job.run_folder("run");
    const auto best = lowest(run_name);
    CHECK(predicted(run_name + "@last") == predicted(run_name));
    CHECK(predicted(run_name + "@step-8") == predicted(run_name));
    CHECK(predicted(run_name + "@best") == predicted(run_name + "@" + folder_of(best)));
    job.trained("short", and_also(sets, {"train.steps=3"}));
    CHECK(predicted(run_name + "@step-3") == predicted(job.run_folder("short")));
    CHECK(predicted(run_name + "@step-3") != predicted(run_name));

    // A folder of such a name is itself.
    fs::copy(job.run_folder("short"), run_name + "@step-5", fs::copy_options::recursive);
    CHECK(predicted(run_name + "@step-5") == predicted(job.run_folder("short")));
}

TEST_CASE("a run that was stopped predicts by its newest checkpoint, and says so") {
    const TinyJob job;
    job.trained("run", and_also(restless, {"train.steps=3"}));
    const auto name = job.run_folder("run");
    const auto expected = predicted(name);
    fs::remove_all(name + "/model");
    const auto outcome = run({"predict", name, "a film"});
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.err,
               contains(name + " has not finished: using its newest checkpoint, step-00000003\n"));
    CHECK(predicted(name) == expected);
    CHECK(run({"predict", name + "@last", "a film"}).err.find("has not finished") == std::string::npos);
}

TEST_CASE("a run that was gone on with after its end predicts by what it has learnt since, and says so") {
    const TinyJob job;
    job.trained("run", and_also(restless, {"train.steps=3"}));
    const auto name = job.run_folder("run");
    const auto early = predicted(name);
    const auto early_summary = bytes_of(name + "/summary.json");
    fs::copy(name + "/model", job.file("early"), fs::copy_options::recursive);
    job.trained("run", and_also(restless, {"train.steps=5"}), {"--resume"});
    const auto late = predicted(name);
    REQUIRE(late != early);
    CHECK_THAT(run({"predict", name, "a film"}).err, !contains("has not finished"));  // it has ended again

    // As it is while it goes on, and after it was killed.
    const auto check_newest = [&] {
        const auto outcome = run({"predict", name, "a film"});
        CHECK(outcome.code == 0);
        CHECK_THAT(outcome.err,
                   contains(name + " has not finished: using its newest checkpoint, step-00000005\n"));
        CHECK(predicted(name) == late);
        CHECK(predicted(name + "@last") == late);
    };
    const auto late_summary = bytes_of(name + "/summary.json");
    fs::remove_all(name + "/model");
    fs::rename(job.file("early"), name + "/model");
    job.write("run/summary.json", early_summary);
    check_newest();
    // As it is after a signal, or a failure.
    for (const std::string status : {"stopped", "failed"}) {
        auto summary = nlohmann::json::parse(late_summary);
        summary["status"] = status;
        job.write("run/summary.json", summary.dump());
        check_newest();
    }

    // A model alone is used, whatever is left beside it.
    const auto check_model = [&] {
        CHECK_THAT(run({"predict", name, "a film"}).err, !contains("has not finished"));
        CHECK(predicted(name) == early);
    };
    fs::rename(name + "/summary.json", job.file("summary.json"));
    check_model();
    fs::rename(job.file("summary.json"), name + "/summary.json");
    fs::remove_all(name + "/checkpoints");
    check_model();
}

TEST_CASE("a name of a run that stands for no checkpoint is told those that there are") {
    const TinyJob job;
    job.trained("run", {"train.steps=2", "train.checkpoint_every=1"});
    const auto name = job.run_folder("run");
    const auto known = "; expected one of " + name + "@step-1, " + name + "@step-2\n";
    const std::pair<std::string, std::string> cases[] = {
        {"@step-200", ": error: there is no checkpoint of step 200" + known},
        {"@best", ": error: the run has no best checkpoint, which train.keep_best keeps" + known},
        {"@first", ": error: expected " + name + "@best, " + name + "@last or " + name + "@step-N" + known},
        {"@step--1", ": error: expected " + name + "@best, " + name + "@last or " + name + "@step-N" + known},
        {"@", ": error: expected " + name + "@best, " + name + "@last or " + name + "@step-N" + known},
    };
    for (const auto& [which, told] : cases) {
        check_refused(run({"predict", name + which, "a film"}), {name + which + told});
        check_refused(run({"generate", name + which}), {name + which + told});
    }
    check_refused(run({"predict", job.run_folder("none") + "@best", "a film"}),
                  {job.run_folder("none") + ": error: there is no such folder"});

    const auto weights = name + "/checkpoints/step-00000001/model.safetensors";
    auto bytes = bytes_of(weights);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    job.write("run/checkpoints/step-00000001/model.safetensors", bytes);
    check_refused(run({"predict", name + "@step-1", "a film"}),
                  {"step-00000001: error: model.safetensors: is damaged"});
    fs::remove_all(name + "/checkpoints");
    check_refused(run({"predict", name + "@last", "a film"}),
                  {name + "@last: error: there is no last checkpoint; " + name + " has no checkpoint\n"});
}

TEST_CASE("a metric that the task does not have is refused before anything is read") {
    const TinyJob job;
    const auto outcome = run(job.train("run", {"train.eval_every=1", "train.keep_best=eval.perplexity"}));
    check_refused(outcome, {"--set #2: error: train.keep_best: \"eval.perplexity\" is no metric of "
                            "classification; expected eval.loss, eval.accuracy, "});
    CHECK_FALSE(fs::exists(job.run_folder("run")));
}

TEST_CASE("the score of one label is kept by however many labels there are") {
    std::string labels = R"("bad", "good")";
    for (int i = 0; i < 29; ++i) labels += R"(, "other)" + std::to_string(i) + '"';
    const TinyJob job;
    const auto outcome =
        job.trained("run", {"train.steps=2", "train.eval_every=1", "task.labels=[" + labels + "]",
                            "train.keep_best=eval.recall/good"});
    CHECK(best_of(job.run_folder("run"))["metric"] == "eval.recall/good");
    CHECK(lines_with(job.run_folder("run"), "eval_recall/good").size() == 2);
    CHECK_THAT(outcome.err, !contains("train.keep_best"));
}

TEST_CASE("where evaluations lack the kept score that is said once, and none is the best") {
    const TinyJob job;
    std::string train = "text\ta\tb\n", eval = train;
    for (const char* const film :
         {"the film is lovely", "a dull plot", "this cast was funny", "a cold scene"})
        for (const char* const number : {"1", "2", "4"})
            train += std::string(film) + " " + number + "\t" + number + "\t" + number + "\n";
    eval += "a warm story\t1\t\na flat story\t2\t\n";
    const auto outcome = job.trained(
        "run", {"train.steps=2", "train.eval_every=1", "task.kind=regression", "task.labels=[\"a\", \"b\"]",
                "data.train=[\"" + job.write("numbers.tsv", train) + "\"]",
                "data.eval=[\"" + job.write("held_out.tsv", eval) + "\"]", "train.keep_best=eval.mae/b"});
    CHECK_FALSE(fs::exists(fs::path(job.run_folder("run")) / "checkpoints/best.json"));
    CHECK_THAT(outcome.err, contains("train.keep_best: the evaluation of step 1 has no eval.mae/b, ") &&
                                !contains("the evaluation of step 2 has no"));
}
