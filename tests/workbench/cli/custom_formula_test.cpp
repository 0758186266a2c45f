// Jobs whose activation or loss a plugin brings (examples/plugins/mish, examples/plugins/focal): planned,
// trained, resumed, and refused where they cannot work.
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// The examples, found by SWITCHYARD_PLUGIN_PATH.
RunOptions with_examples() {
    const auto folder = build_dir() / "tests/support/plugins/example";
    RunOptions options;
    options.environment["SWITCHYARD_PLUGIN_PATH"] =
        (folder / "libmish.so").string() + ":" + (folder / "libfocal.so").string();
    return options;
}

const Words own{"model.activation=custom:mish", "activation.backend=auto", "loss.function=custom:focal",
                "loss.backend=auto"};

Outcome train(const TinyJob& job, const std::string& name, const Words& sets = {}, const Words& more = {}) {
    return run(job.train(name, with(own, sets), more), with_examples());
}

}  // namespace

TEST_CASE("a job with an activation and a loss of plugins' own is planned") {
    const TinyJob job;
    const auto json = run_json(job.words("plan", own), 0, with_examples());
    int seen = 0;
    for (const auto& slot : json.at("slots")) {
        const bool activation = slot.at("slot") == "activation", loss = slot.at("slot") == "loss";
        if (!activation && !loss) continue;
        ++seen;
        CHECK(slot.at("chosen").at("plugin") == (activation ? "mish" : "focal"));
        CHECK_THAT(slot.at("request_in_words").get<std::string>(),
                   contains(activation ? "activation custom:mish" : "loss custom:focal"));
    }
    CHECK(seen >= 2);
}

TEST_CASE("it learns, and a run that is stopped and resumed ends with the same bits") {
    const TinyJob job;
    const Words sets{"train.checkpoint_every=1"};
    const auto whole = train(job, "whole", sets);
    INFO(whole.err);
    REQUIRE(whole.code == 0);
    REQUIRE(train(job, "again", with(sets, {"train.steps=3"})).code == 0);
    const auto resumed = train(job, "again", sets, {"--resume"});
    INFO(resumed.err);
    REQUIRE(resumed.code == 0);
    CHECK(state_of(job.run_folder("whole")) == state_of(job.run_folder("again")));
    CHECK(step_losses(job.run_folder("whole")) == step_losses(job.run_folder("again")));
    const auto usual = job.trained("usual");
    REQUIRE(usual.code == 0);
    CHECK(step_losses(job.run_folder("usual")) != step_losses(job.run_folder("whole")));
    // The run's own model is read with its activation.
    const auto predicted =
        run({"predict", job.run_folder("whole"), job.file("rows.tsv"), "--trust"}, with_examples());
    INFO(predicted.err);
    CHECK(predicted.code == 0);
}

TEST_CASE("ranks that have parts of each layer have all words for a loss of a plugin's own") {
    const TinyJob job;
    const auto sets = with(own, {"task.kind=masked_lm", "task.labels=[]", "model.heads=4",
                                 "attention.backend=naive", "normalization.backend=naive"});
    const auto trained = [&](const std::string& name, const Words& more, const Words& before) {
        const auto outcome = run(with(before, job.train(name, with(sets, more))), with_examples());
        INFO(outcome.err);
        REQUIRE(outcome.code == 0);
        return step_losses(job.run_folder(name));
    };
    const auto alone = trained("alone", {}, {});
    const auto parts = trained("parts", {"distributed.mesh.tensor=2"}, {"launch", "-n", "2"});
    REQUIRE(parts.size() == alone.size());
    for (const auto& [step, loss] : alone) CHECK(parts.at(step) == Approx(loss).epsilon(1e-5));
}

TEST_CASE("a regression takes a loss of values") {
    const TinyJob job;
    std::string rows = "text\tscore\n";
    for (int i = 0; i < 60; ++i)
        rows += "a good film " + std::to_string(i) + "\t" + std::to_string(i % 7) + ".5\n";
    job.write("rows.tsv", rows);
    const Words sets{"task.kind=regression",       "task.labels=[]",    "data.label_column=score",
                     "loss.function=custom:huber", "loss.backend=auto", "loss.options.focal.delta=0.5"};
    const auto trained = run(job.train("run", sets), with_examples());
    INFO(trained.err);
    REQUIRE(trained.code == 0);
    CHECK(step_losses(job.run_folder("run")).size() == 8);
    // A loss that is for targets of another form says so.
    const auto focal = run(job.train("other", with(sets, {"loss.function=custom:focal"})), with_examples());
    INFO(focal.err);
    CHECK(focal.code != 0);
    CHECK_THAT(focal.out + focal.err, contains("value_targets") && contains("task.kind"));
}

TEST_CASE("a formula that nobody brings is told with its key and the nearest") {
    const TinyJob job;
    const auto activation =
        run(job.words("plan", {"model.activation=custom:mich", "activation.backend=auto"}), with_examples());
    INFO(activation.out << activation.err);
    CHECK(activation.code != 0);
    CHECK_THAT(activation.out + activation.err, contains("error: model.activation = \"custom:mich\"") &&
                                                    contains("did you mean \"custom:mish\"?"));
    const auto loss =
        run(job.words("plan", {"loss.function=custom:vocal", "loss.backend=auto"}), with_examples());
    CHECK_THAT(loss.out + loss.err, contains("error: loss.function = \"custom:vocal\"") &&
                                        contains("did you mean \"custom:focal\"?"));
    check_refused(run(job.words("plan", {"loss.function=focal"})), {"loss.function", "\"custom:NAME\""});
}

TEST_CASE("what a loss of a plugin's own cannot be used for is refused by its key") {
    const TinyJob job;
    check_refused(run(job.words("plan", with(own, {"loss.label_smoothing=0.1"})), with_examples()),
                  {"loss.function", "label_smoothing and z_loss are parts of cross-entropy"});
    const auto bench = run({"bench", "activation", "--activation", "custom"}, with_examples());
    CHECK(bench.code == 2);
    CHECK_THAT(bench.err, contains("--activation custom: expected one of gelu_erf"));
}

TEST_CASE("plugins info and verify know the formulas of a plugin's own") {
    const auto info = run({"plugins", "info", "focal"}, with_examples());
    INFO(info.out << info.err);
    CHECK_THAT(info.out, contains("formulas of its own: custom:focal, custom:huber"));
    CHECK_THAT(info.out, contains("float64 (custom:focal, custom:huber)"));
    for (const std::string plugin : {"mish", "focal"}) {
        const auto library =
            (build_dir() / "tests/support/plugins/example" / ("lib" + plugin + ".so")).string();
        // All cases of all dtypes run in tests/examples.
        const auto verified = run_json({"plugins", "verify", library, "--drawn", "2", "--seed", "1",
                                        "--dtype", "float32", "--filter", "custom:" + plugin + "/"});
        REQUIRE(verified.at("components").size() == 1);
        CHECK(verified.at("components").at(0).at("cases") > 0);
    }
}
