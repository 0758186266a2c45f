// A step whose numbers are not finite, on ranks that go back to their last checkpoint together. To add a way
// to divide a model: a line in the table.
#include "launched_ranks.h"

#include <switchyard_test.h>

using namespace switchyard::test;

// The 16th call of the activation on each rank, which is of the third step or the fourth, is wrong.
TEST_CASE("ranks go back to their last checkpoint together, however they divide the model") {
    const TinyJob job;
    const Words sets{"plugins.paths=[\"" + (build_dir() / "tests/support/plugins/overflows").string() + "\"]",
                     "activation.backend=overflow",
                     "activation.options.overflow.forward_call=16",
                     "model.activation=relu",
                     "attention.backend=naive",
                     "normalization.backend=naive",
                     "train.nonfinite=rewind",
                     "train.checkpoint_every=2"};
    const auto rewinds = [&](const std::string& name) {
        const auto summary = summary_of(job, name);
        CHECK(summary.at("steps") == 8);
        auto list = summary.at("rewinds");
        REQUIRE(list.size() == 1);
        CHECK(list[0].at("to") == 2);
        CHECK(list[0].at("what") == "the loss is nan");
        return list;
    };
    train_on(2, job, "data", sets);
    for (const char* const shard : {"optimizer", "full"}) {
        INFO(shard);
        train_on(2, job, shard, with(sets, {std::string("distributed.shard=") + shard}));
        CHECK(rewinds(shard) == rewinds("data"));
        check_losses(step_losses(job.run_folder(shard)), step_losses(job.run_folder("data")), 1e-6);
    }
    train_on(1, job, "alone", sets);
    train_on(2, job, "parts", with(sets, {"distributed.mesh.tensor=2"}));
    CHECK(rewinds("parts") == rewinds("alone"));
    check_losses(step_losses(job.run_folder("parts")), step_losses(job.run_folder("alone")), 1e-5);
}
