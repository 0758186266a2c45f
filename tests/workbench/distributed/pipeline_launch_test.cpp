// `switchyard launch` of ranks that have ranges of the layers, as a user runs it. To add a case of bad
// input: a line in the table of that test.
#include "json_schema.h"
#include "launched_ranks.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// Dropout by logical position, everywhere, and micro-batches to pass on.
const Words piped_base{"attention.backend=naive", "normalization.backend=naive", "model.heads=4",
                       "batch.size=4", "train.grad_accumulation_steps=3"};

Words stages(int ranks) { return {"distributed.mesh.pipeline=" + std::to_string(ranks)}; }

}  // namespace

TEST_CASE("launched ranks with a range of the layers each train, evaluate and leave what one process does") {
    const TinyJob job;
    const auto sets = with(piped_base, {"train.eval_every=4", "train.ema=0.5"});
    train_on(1, job, "alone", sets);
    train_on(2, job, "stages", with(sets, stages(2)));
    train_on(2, job, "gpipe", with(sets, with(stages(2), {"distributed.schedule=gpipe"})));
    const auto alone = summary_of(job, "alone"), piped = summary_of(job, "stages");
    for (const std::string name : {"stages", "gpipe"}) {
        check_losses(step_losses(job.run_folder(name)), step_losses(job.run_folder("alone")), 1e-5);
        check_losses(eval_losses(job.run_folder(name)), eval_losses(job.run_folder("alone")), 1e-5);
    }
    CHECK(piped["ranks"] == 2);
    CHECK(piped["eval"]["accuracy"] == alone["eval"]["accuracy"]);
    CHECK(schema_faults("summary.json", piped) == no_faults);

    // The first rank has no head and half of the layers.
    const auto h = tiny_hidden, i = tiny_intermediate;
    const auto layer = 4 * h * h + 4 * h + 2 * h * i + i + h + 4 * h;
    const auto head = h * h + h + 2 * h + 2;
    const auto whole = alone["memory"]["parameters"].get<std::int64_t>();
    CHECK(piped["memory"]["parameters"] == whole - 4 * (layer * tiny_layers / 2 + head));
    CHECK(piped["memory"]["gradients"] == piped["memory"]["parameters"]);
    CHECK(piped["memory"]["optimizer"] == 2 * piped["memory"]["parameters"].get<std::int64_t>());

    // What is left is a whole model.
    const auto evaluated = run({"evaluate", job.run_folder("stages"), job.file("rows.tsv")});
    INFO(evaluated.err);
    CHECK(evaluated.code == 0);
    const auto size = [&](const std::string& name) {
        return fs::file_size(fs::path(job.run_folder(name)) / "model/model.safetensors");
    };
    CHECK(size("stages") == size("alone"));
    check_adapts_alike(job, sets, stages(2), "alone");
}

TEST_CASE("a run of stages goes on to the same bits, and on any mesh within rounding") {
    const TinyJob job;
    const auto sets = with(piped_base, {"train.steps=8", "train.checkpoint_every=3", "train.keep_last=5"});
    train_on(2, job, "whole", with(sets, stages(2)));
    train_on(2, job, "cut", with(with(sets, stages(2)), {"train.steps=3"}));
    const auto expected = step_losses(job.run_folder("whole"));
    struct Way {
        int ranks, pipeline, tensor;
        std::string batch;
    };
    for (const auto& [ranks, pipeline, tensor, batch] :
         {Way{2, 2, 1, "4"}, Way{1, 1, 1, "4"}, Way{4, 2, 2, "4"}, Way{4, 2, 1, "2"}, Way{2, 1, 2, "4"}}) {
        INFO(ranks << " ranks, " << pipeline << " stages, " << tensor << " parts");
        const auto name =
            "from_" + std::to_string(ranks) + "_" + std::to_string(pipeline) + "_" + std::to_string(tensor);
        fs::copy(job.run_folder("cut"), job.run_folder(name), fs::copy_options::recursive);
        const Words changed{"distributed.mesh.tensor=" + std::to_string(tensor), "batch.size=" + batch};
        train_on(ranks, job, name, with(sets, with(stages(pipeline), changed)),
                 {"--resume", "--allow-change", "distributed.mesh.tensor", "--allow-change",
                  "distributed.mesh.pipeline", "--allow-change", "batch.size"});
        const bool same = ranks == 2 && pipeline == 2;
        check_losses(step_losses(job.run_folder(name)), expected, same ? 0.0 : 1e-5);
        if (!same) continue;
        check_same_checkpoints(job, name, "whole", "step-00000008");
    }
}

TEST_CASE("stages that cannot be are told once, with exit code 2") {
    check_refused_ranks(
        piped_base,
        {{3, stages(2),
          "distributed.mesh.pipeline: each 2 ranks have a model together, and there are 3 ranks"},
         {1, stages(2), "expected a multiple of 2 ranks, as with `switchyard launch -n 2`"},
         {4, with(stages(2), {"distributed.mesh.data=1"}),
          "1 (data) x 1 (tensor) x 2 (pipeline) are 2, and there are 4 ranks"},
         {4, stages(4), "2 layers cannot be given to 4 ranks, each of which needs one; expected at most 2"},
         {2, with(stages(2), {"distributed.shard=full"}),
          "a range of layers is there as long as batches pass through it; expected \"optimizer\", \"none\""},
         {2, with(stages(2), {R"(lora={rank=2,targets=["encoder.1.*"]})", "train.weights=/none"}),
          "all parameters of stage 0 are frozen"},
         {2, with(stages(2), {R"(group=[{match=["embeddings.*","encoder.0.*"],frozen=true}])"}),
          "distributed.mesh.pipeline: all parameters of stage 0 are frozen; expected fewer ranks"},
         {4, with(stages(2), {R"(group=[{match=["encoder.1.*","pooler.*","classifier.*"],frozen=true}])"}),
          "all parameters of stage 1 are frozen"},
         {2, with(stages(2), {"distributed.schedule=zigzag"}), "distributed.schedule"}});
}

TEST_CASE("when a rank with a range of the layers is killed all end") {
    check_all_end_when_one_is_killed(with(piped_base, stages(2)));
}
