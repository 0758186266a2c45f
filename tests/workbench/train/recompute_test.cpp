// Activation checkpointing under each precision policy, of short trainings with dropout: the same bits in
// every step's loss and in all that a checkpoint holds. A whole run: tests/workbench/cli/jobs; models and
// layouts: tests/workbench/model.
// To add a policy: its name; to add a recipe of float8: its name.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "ragged_texts.h"
#include "short_training.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

using Sets = std::vector<std::string>;

Sets sets_with(const Sets& more) {
    Sets all{"model.type=bert",
             "model.layers=2",
             "model.hidden_size=32",
             "model.heads=4",
             "model.intermediate_size=64",
             "model.vocab_size=50",
             "model.max_positions=29",
             "model.dropout=0.1",
             "model.attention_dropout=0.1",
             "task.kind=classification",
             "task.labels=[\"a\",\"b\",\"c\"]",
             "batch.max_length=29",
             "batch.size=4",
             "train.grad_accumulation_steps=3",
             "train.schedule=constant",
             "train.warmup_ratio=0",
             "optimizer.lr=0.001",
             "run.seed=3",
             "linear.backend=[\"torch\",\"scaled\"]"};
    for (const std::string slot :
         {"attention", "normalization", "activation", "loss", "data_loader", "optimizer"})
        all.push_back(slot + ".backend=torch");
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

struct Trained {
    std::vector<double> losses;
    std::int64_t skipped = 0;
    std::map<std::string, at::Tensor> values;  // parameters, masters, states of the optimizer and the policy
};

Trained trained(const Sets& sets) {
    const test::RaggedTexts texts(config::TaskKind::classification);
    test::ShortTraining job(sets, texts);
    const auto result = job.trainer.run({});
    INFO(result.error);
    REQUIRE(result.outcome == train::Outcome::finished);
    Trained all;
    for (const auto& step : result.steps) all.losses.push_back(step.loss);
    const auto state = job.trainer.state();
    all.skipped = state.progression.skipped_steps;
    const auto keep = [&](const std::string& name, const at::Tensor& value) {
        all.values[name] = value.detach().clone(at::MemoryFormat::Contiguous);
    };
    for (const auto& parameter : job.session.parameters().all())
        keep("parameter " + parameter.name, parameter.value);
    for (const auto& [name, master] : state.masters) keep("master " + name, master);
    for (const auto& entry : state.optimizer.entries)
        keep("optimizer " + entry.parameter + " " + entry.key, entry.value);
    for (const auto& entry : state.precision.entries) keep("precision " + entry.key, entry.value);
    return all;
}

bool equal_bits(const at::Tensor& a, const at::Tensor& b) {
    return a.nbytes() == b.nbytes() && std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

// The name of what differs first; "" where nothing does.
std::string first_difference(const Trained& found, const Trained& expected) {
    if (found.values.size() != expected.values.size()) return "other values are kept";
    for (const auto& [name, value] : expected.values) {
        if (!found.values.contains(name) || !equal_bits(found.values.at(name), value)) return name;
    }
    return "";
}

// Gives what is trained without recomputation.
Trained check_recomputation(const Sets& sets, std::size_t steps) {
    auto none = trained(sets);
    REQUIRE(none.losses.size() == steps);
    for (const std::string part : {"layers", "attention", "feed_forward"}) {
        INFO(part);
        auto more = sets;
        more.push_back("train.recompute=" + part);
        const auto again = trained(more);
        CHECK(again.losses == none.losses);
        CHECK(first_difference(again, none) == "");
    }
    return none;
}

}  // namespace

TEST_CASE("recomputation trains to the same bits under every policy") {
    for (const std::string policy : {"naive/reference", "torch/fp32", "torch/bf16", "amp/fp32", "amp/bf16",
                                     "amp/fp16", "amp/bf16_pure"}) {
        INFO(policy);
        const auto none = check_recomputation(sets_with({"train.steps=3", "precision.backend=" + policy}), 3);
        CHECK(none.skipped == 0);
    }
}

TEST_CASE("recomputation gives the same bits and leaves float8's histories alone, with every recipe") {
    const std::string options = "precision.options.fp8.";
    for (const std::string recipe : {"delayed", "current", "blockwise"}) {
        INFO(recipe);
        // Two layers of width 32: all of them in float8.
        const auto none = check_recomputation(
            sets_with({"train.steps=4", "precision.backend=fp8", options + "cpu_reference=true",
                       options + "min_intensity=0", options + "keep_first=0", options + "keep_last=0",
                       options + "recipe=" + recipe, options + "amax_history_length=4"}),
            4);
        const auto history = none.values.lower_bound("precision amax_history.encoder.1.attention.");
        const bool remembers = history != none.values.end() && history->first.starts_with("precision amax");
        CHECK(remembers == (recipe == "delayed"));
    }
}
