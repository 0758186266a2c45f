// Training with linear layers in float8 (the CPU's reference): its histories through checkpoints and
// recomputation, and what bad input gets.
// To add a case: sets of the tiny job, and which two runs end alike.
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

const std::string options = "precision.options.fp8.";

// Two layers of width 32: all of them in float8.
Words float8(const std::string& recipe, const Words& more = {}) {
    Words sets{"precision.backend=fp8",          options + "cpu_reference=true", options + "min_intensity=0",
               options + "keep_first=0",         options + "keep_last=0",        options + "recipe=" + recipe,
               options + "amax_history_length=4"};
    sets.insert(sets.end(), more.begin(), more.end());
    return sets;
}

}  // namespace

TEST_CASE("amax histories and scales are resumed bit for bit") {
    const TinyJob job;
    job.trained("whole", float8("delayed", {"train.steps=7"}));
    job.trained("cut", float8("delayed", {"train.steps=3"}));
    fs::remove_all(fs::path(job.run_folder("cut")) / "model");
    job.trained("cut", float8("delayed", {"train.steps=7"}), {"--resume"});
    CHECK(step_losses(job.run_folder("cut")) == step_losses(job.run_folder("whole")));
    const auto state = state_of(job.run_folder("whole"));
    CHECK(state.find("precision.amax_history.encoder.1.attention.") != std::string::npos);
    const bool same = state_of(job.run_folder("cut")) == state;
    CHECK(same);
}

TEST_CASE("recomputation gives the same bits and leaves the histories alone, with every recipe") {
    const TinyJob job;
    for (const std::string recipe : {"delayed", "current", "blockwise"}) {
        INFO(recipe);
        check_recomputation(job, recipe, float8(recipe, {"train.steps=4"}));
    }
}

TEST_CASE("float8 on a CPU without being asked for, and a recipe that is none, are refused") {
    const TinyJob job;
    check_refused(run(job.train("run", {"precision.backend=fp8"})),
                  {"cpu_reference: expected true on a cpu", "got false",
                   "set precision.options.fp8.cpu_reference = true, or take amp/bf16"});
    check_refused(run(job.train("run", float8("delaied"))),
                  {"precision.options.fp8.recipe: got the string \"delaied\"; expected one of \"delayed\", "
                   "\"current\", \"blockwise\"; did you mean \"delayed\"?"});
    CHECK_FALSE(fs::exists(job.run_folder("run")));
}

TEST_CASE("a run of another policy goes on with this one, and says so") {
    const TinyJob job;
    job.trained("run", {"train.steps=2"});
    const auto outcome = run(
        job.train("run", float8("delayed", {"train.steps=4"}), {"--resume", "--allow-change", "precision"}));
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(
        outcome.err,
        contains("was saved under precision torch/fp32: parameters are converted from its float32 values"));
}
