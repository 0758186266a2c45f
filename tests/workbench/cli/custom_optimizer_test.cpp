// Jobs whose optimizer.algorithm a plugin brings (examples/plugins/adafactor): planned, trained, resumed,
// compared, and refused where they cannot work.
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

const std::string key = "optimizer.algorithm=custom:adafactor";

// The example, found by SWITCHYARD_PLUGIN_PATH.
RunOptions with_example() {
    RunOptions options;
    options.environment["SWITCHYARD_PLUGIN_PATH"] =
        (build_dir() / "tests/support/plugins/example/libadafactor.so").string();
    return options;
}

const Words own{key, "optimizer.backend=auto", "optimizer.lr=0.01", "linear.backend=torch"};

Outcome train(const TinyJob& job, const std::string& name, const Words& sets = {}, const Words& more = {}) {
    return run(job.train(name, with(own, sets), more), with_example());
}

}  // namespace

TEST_CASE("a job with an algorithm of a plugin's own is planned") {
    const TinyJob job;
    const auto plan = run(job.words("plan", own), with_example());
    INFO(plan.out << plan.err);
    REQUIRE(plan.code == 0);
    CHECK_THAT(plan.out, contains("adafactor"));
    const auto json = run_json(job.words("plan", own), 0, with_example());
    bool seen = false;
    for (const auto& slot : json.at("slots")) {
        if (slot.at("slot") != "optimizer") continue;
        seen = true;
        CHECK(slot.at("chosen").at("plugin") == "adafactor");
        CHECK(slot.at("request").at("custom") == "adafactor");
        CHECK_THAT(slot.at("request_in_words").get<std::string>(), contains("algorithm custom:adafactor"));
        for (const auto& candidate : slot.at("candidates")) {
            if (candidate.at("plugin") == "adafactor") continue;
            CHECK(candidate.at("ok") == false);
            CHECK(candidate.at("reasons").at(0).at("got") == "custom:adafactor");
        }
    }
    CHECK(seen);
}

TEST_CASE("the example's own job learns") {
    const TinyJob job;
    Words words{"train", (source_dir() / "examples/plugins/adafactor/train.toml").string(),
                "--run", job.run_folder("run"),
                "--set", "train.log_every=1"};
    for (const char* slot : {"attention", "normalization", "activation", "linear", "loss"})
        words.insert(words.end(), {"--set", std::string(slot) + ".backend=torch"});
    const auto trained = run(words, with_example());
    INFO(trained.err);
    REQUIRE(trained.code == 0);
    const auto losses = step_losses(job.run_folder("run"));
    CHECK(losses.at(60) < 0.6 * losses.at(1));
}

TEST_CASE("a run with it that is stopped and resumed ends with the same bits, clipped and in two groups") {
    const TinyJob job;
    const auto file = job.write("job.toml", bytes_of(job.file("job.toml")) +
                                                "\n[[group]]\nmatch = [\"embeddings.*\"]\nlr_factor = 0.5\n"
                                                "weight_decay_factor = 0.2\n");
    const Words sets{"train.checkpoint_every=1", "optimizer.max_grad_norm=0.5"};
    const auto whole = train(job, "whole", sets);
    INFO(whole.err);
    REQUIRE(whole.code == 0);
    REQUIRE(train(job, "again", with(sets, {"train.steps=3"})).code == 0);
    const auto resumed = train(job, "again", sets, {"--resume"});
    INFO(resumed.err);
    REQUIRE(resumed.code == 0);
    CHECK(state_of(job.run_folder("whole")) == state_of(job.run_folder("again")));
    CHECK(bytes_of(fs::path(job.run_folder("whole")) / "model/model.safetensors") ==
          bytes_of(fs::path(job.run_folder("again")) / "model/model.safetensors"));
    CHECK(step_losses(job.run_folder("whole")) == step_losses(job.run_folder("again")));
}

TEST_CASE("it is trained in half precision with scaled losses and masters") {
    const TinyJob job;
    const auto trained = train(job, "run", {"precision.backend=torch/bf16", "precision.loss_scaling=auto"});
    INFO(trained.err);
    CHECK(trained.code == 0);
    CHECK(step_losses(job.run_folder("run")).size() == 8);
}

TEST_CASE("an algorithm that nobody brings is told with its key, the nearest and all that there are") {
    const TinyJob job;
    for (const char* command : {"plan", "train"}) {
        auto words = job.words(command, {"optimizer.algorithm=custom:adafacter", "optimizer.backend=auto"});
        if (words[0] == "train") words.insert(words.end(), {"--run", job.run_folder("run")});
        const auto outcome = run(words, with_example());
        INFO(outcome.out << outcome.err);
        CHECK(outcome.code != 0);
        CHECK_THAT(outcome.out + outcome.err, contains("error: optimizer.algorithm = \"custom:adafacter\"") &&
                                                  contains("did you mean \"custom:adafactor\"?") &&
                                                  contains("custom:adafactor (adafactor/adafactor)"));
        CHECK_FALSE(fs::exists(fs::path(job.run_folder("run")) / "model"));
    }
    check_refused(run(job.words("plan", {"optimizer.algorithm=custom:"})),
                  {"optimizer.algorithm", "\"custom:NAME\""});
    check_refused(run(job.words("plan", {"optimizer.algorithm=custom"})),
                  {"optimizer.algorithm", "\"custom:NAME\""});
}

TEST_CASE("what a custom algorithm cannot be used for is refused by its key") {
    const TinyJob job;
    auto words = job.train("cut", with(own, {"distributed.mesh.tensor=2", "model.heads=4"}));
    words.insert(words.begin(), {"launch", "-n", "2"});
    const auto cut = run(words, with_example());
    INFO(cut.err);
    CHECK(cut.code == 2);
    CHECK_THAT(cut.err, contains("distributed.mesh.tensor") &&
                            contains("adafactor/adafactor steps whole models only; expected 1"));
    const auto bench = run({"bench", "optimizer", "--algorithm", "custom"}, with_example());
    CHECK(bench.code == 2);
    CHECK_THAT(bench.err, contains("--algorithm custom: expected one of adamw"));
    // A state that is kept under another algorithm's name is not taken over.
    REQUIRE(train(job, "first", {"train.checkpoint_every=4"}).code == 0);
    const auto other =
        run(job.train("first", {"optimizer.algorithm=adamw", "optimizer.backend=torch"}, {"--resume"}));
    INFO(other.err);
    CHECK(other.code == 2);
}

TEST_CASE("plugins info and doctor tell the algorithms that a plugin brings") {
    const auto info = run({"plugins", "info", "adafactor"}, with_example());
    INFO(info.out << info.err);
    CHECK(info.code == 0);
    CHECK_THAT(info.out, contains("formulas of its own: custom:adafactor"));
    CHECK_THAT(info.out, contains("float64 (custom:adafactor)"));
    const auto doctor = run({"plugins", "doctor"}, with_example());
    CHECK_THAT(doctor.out, contains("custom:adafactor"));
}
