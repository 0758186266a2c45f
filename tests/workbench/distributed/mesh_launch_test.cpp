// `switchyard launch` of ranks that have a part of each layer, as a user runs it. To add a case of bad input:
// a line in the table of that test.
#include "json_schema.h"
#include "launched_ranks.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// Dropout by logical position, everywhere, and a layer of which two and four ranks can have parts.
const Words base{"attention.backend=naive", "normalization.backend=naive", "model.heads=4", "batch.size=12"};

Words tensor(int ranks) { return {"distributed.mesh.tensor=" + std::to_string(ranks)}; }

}  // namespace

TEST_CASE("launched ranks with half of each layer train, evaluate and leave what one process does") {
    const TinyJob job;
    const auto sets = with(base, {"train.eval_every=4"});
    train_on(1, job, "alone", sets);
    train_on(2, job, "parts", with(sets, tensor(2)));
    check_losses(step_losses(job.run_folder("parts")), step_losses(job.run_folder("alone")), 1e-5);
    check_losses(eval_losses(job.run_folder("parts")), eval_losses(job.run_folder("alone")), 1e-5);
    const auto parts = summary_of(job, "parts"), alone = summary_of(job, "alone");
    CHECK(parts["ranks"] == 2);
    CHECK(parts["eval"]["accuracy"] == alone["eval"]["accuracy"]);
    CHECK(schema_faults("summary.json", parts) == no_faults);

    // Of words a rank has half, and of each layer but for its norms and the last biases of its blocks.
    const auto h = tiny_hidden, i = tiny_intermediate;
    const auto cut = tiny_vocabulary * h + tiny_layers * (4 * h * h + 3 * h + 2 * h * i + i);
    const auto whole = alone["memory"]["parameters"].get<std::int64_t>();
    CHECK(parts["memory"]["parameters"] == whole - 4 * cut / 2);
    CHECK(parts["memory"]["gradients"] == whole - 4 * cut / 2);
    CHECK(parts["memory"]["optimizer"] == 2 * (whole - 4 * cut / 2));

    // What is left is a whole model.
    const auto evaluated = run({"evaluate", job.run_folder("parts"), job.file("rows.tsv")});
    INFO(evaluated.err);
    CHECK(evaluated.code == 0);
    const auto size = [&](const std::string& name) {
        return fs::file_size(fs::path(job.run_folder(name)) / "model/model.safetensors");
    };
    CHECK(size("parts") == size("alone"));

    check_adapts_alike(job, sets, tensor(2), "alone");
}

TEST_CASE("ranks with parts of layers drop the same hidden values where LibTorch's generator says which") {
    const TinyJob job;
    const auto sets = with(base, {"normalization.backend=torch"});
    train_on(2, job, "halves", with(sets, tensor(2)));
    train_on(4, job, "quarters", with(sets, tensor(4)));
    check_losses(step_losses(job.run_folder("quarters")), step_losses(job.run_folder("halves")), 1e-5);
}

TEST_CASE("a run of ranks with parts of layers goes on to the same bits, and on any mesh within rounding") {
    const TinyJob job;
    const auto sets = with(base, {"train.steps=8", "train.checkpoint_every=3", "train.keep_last=5"});
    train_on(2, job, "whole", with(sets, tensor(2)));
    train_on(2, job, "cut", with(with(sets, tensor(2)), {"train.steps=3"}));
    const auto expected = step_losses(job.run_folder("whole"));
    struct Way {
        int ranks, tensor;
        std::string batch;
    };
    for (const auto& [ranks, parts, batch] :
         {Way{2, 2, "12"}, Way{1, 1, "12"}, Way{4, 4, "12"}, Way{4, 2, "6"}, Way{2, 1, "6"}}) {
        INFO(ranks << " ranks, " << parts << " parts");
        const auto name = "from_" + std::to_string(ranks) + "_" + std::to_string(parts);
        fs::copy(job.run_folder("cut"), job.run_folder(name), fs::copy_options::recursive);
        train_on(ranks, job, name, with(sets, with(tensor(parts), {"batch.size=" + batch})),
                 {"--resume", "--allow-change", "distributed.mesh.tensor", "--allow-change", "batch.size"});
        const bool same = ranks == 2 && parts == 2;
        check_losses(step_losses(job.run_folder(name)), expected, same ? 0.0 : 1e-5);
        if (!same) continue;
        check_same_checkpoints(job, name, "whole", "step-00000008");
    }
}

TEST_CASE("ranks that divide their parts of a model go on to the same bits, and any others within rounding") {
    for (const std::string shard : {"optimizer", "full"}) {
        INFO(shard);
        const TinyJob job;
        const auto sets = with(base, {"train.steps=6", "train.checkpoint_every=3", "train.keep_last=5"});
        const Words four{"batch.size=6", "distributed.mesh.tensor=2", "distributed.shard=" + shard};
        train_on(4, job, "whole", with(sets, four));
        train_on(1, job, "alone", sets);
        train_on(2, job, "parts", with(sets, tensor(2)));
        const auto expected = step_losses(job.run_folder("whole"));
        check_losses(expected, step_losses(job.run_folder("alone")), 1e-5);
        const auto kept = [&](const std::string& run, const char* what) {
            return summary_of(job, run)["memory"][what].get<double>();
        };
        CHECK(kept("whole", "optimizer") / kept("parts", "optimizer") == Approx(0.5).margin(0.02));
        if (shard == "full")
            CHECK(kept("whole", "parameters") / kept("parts", "parameters") == Approx(0.5).margin(0.02));
        train_on(4, job, "cut", with(with(sets, four), {"train.steps=3"}));
        struct Way {
            int ranks;
            Words sets;
        };
        for (const auto& [ranks, ways] :
             {Way{4, four}, Way{1, {}}, Way{2, {"batch.size=6", "distributed.shard=" + shard}}}) {
            INFO(ranks << " ranks");
            const auto name = "from_" + std::to_string(ranks);
            fs::copy(job.run_folder("cut"), job.run_folder(name), fs::copy_options::recursive);
            train_on(ranks, job, name, with(sets, ways),
                     {"--resume", "--allow-change", "distributed.mesh.tensor", "--allow-change",
                      "distributed.shard", "--allow-change", "batch.size"});
            check_losses(step_losses(job.run_folder(name)), expected, ranks == 4 ? 0.0 : 1e-5);
            if (ranks == 4) check_same_checkpoints(job, name, "whole", "step-00000006");
        }
    }
}

TEST_CASE(
    "a run whose matrices are stepped whole by one rank each goes on to the same bits, and on one process") {
    for (const Words& optimizer : {Words{"optimizer.algorithm=lamb", "optimizer.backend=fused"},
                                   Words{"optimizer.backend=optim8bit", "optimizer.allow_reduced=true",
                                         "optimizer.options.optim8bit.min_8bit_size=512"}}) {
        INFO(optimizer.front());
        const TinyJob job;
        const auto sets =
            with(with(base, {"train.steps=6", "train.checkpoint_every=3", "train.keep_last=5"}), optimizer);
        train_on(2, job, "whole", with(sets, tensor(2)));
        train_on(2, job, "cut", with(with(sets, tensor(2)), {"train.steps=3"}));
        const auto expected = step_losses(job.run_folder("whole"));
        for (const int ranks : {2, 1}) {
            INFO(ranks);
            const auto name = "from_" + std::to_string(ranks);
            fs::copy(job.run_folder("cut"), job.run_folder(name), fs::copy_options::recursive);
            train_on(ranks, job, name, with(sets, tensor(ranks)),
                     {"--resume", "--allow-change", "distributed.mesh.tensor"});
            check_losses(step_losses(job.run_folder(name)), expected, ranks == 2 ? 0.0 : 1e-3);
            if (ranks == 2) check_same_checkpoints(job, name, "whole", "step-00000006");
        }
    }
}

TEST_CASE("a mesh that cannot be is told once, with exit code 2") {
    check_refused_ranks(
        base, {
                  {3, tensor(2),
                   "distributed.mesh.tensor: each 2 ranks have a model together, and there are 3 ranks"},
                  {1, tensor(2),
                   "and there is 1 rank; expected a multiple of 2 ranks, as with `switchyard launch -n 2`"},
                  {2,
                   {"distributed.mesh.data=2", "distributed.mesh.tensor=2"},
                   "2 (data) x 2 (tensor) x 1 (pipeline) are 4, and there are 2 ranks"},
                  {8, tensor(8), "4 heads (model.heads) cannot be divided by 8 ranks"},
                  {2, with(tensor(2), {"model.intermediate_size=63"}), "63 values of a feed-forward"},
                  {4,
                   with(tensor(2), {"distributed.shard=optimizer", "optimizer.algorithm=lamb",
                                    "optimizer.backend=fused"}),
                   "distributed.shard: the optimizer fused/fused steps whole matrices, of which ranks have "
                   "parts here; expected \"none\", another optimizer.algorithm or backend"},
                  {4, with(tensor(2), {"distributed.shard=full", "lora.rank=2", "train.weights=/none"}),
                   "adapters ([lora]) of layers of which ranks have parts are not divided once more"},
                  {2, {"distributed.sequence_parallel=true"}, "distributed.mesh.tensor above 1"},
              });
}

TEST_CASE("when a rank with a part of each layer is killed all end") {
    check_all_end_when_one_is_killed(with(base, tensor(2)));
}
