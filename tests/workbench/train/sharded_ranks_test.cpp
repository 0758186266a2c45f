// Ranks that divide the optimizer's state against ranks that do not, to the bit, and against one process.
// To add a case: a line in `cases`.
#include <algorithm>
#include <string>
#include <vector>

#include <ATen/ops/zeros.h>

#include "core/kernel/base/input_error.h"
#include "core/workbench/train/optimizer_shards.h"
#include "rank_training.h"
#include "some_ranks.h"
#include "tests/kernel/runtime/fake_component.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

const std::string divided = "distributed.shard=optimizer";

std::string told(const Case& one) {
    std::string text = std::to_string(one.ranks) + " ranks";
    for (const auto& set : one.more) text += ", " + set;
    return text;
}

// Parameters, losses and skipped steps, to the bit.
void check_same_bits(const Case& one) {
    INFO(told(one));
    const auto whole = train_on_ranks(one, 2, 2);
    const auto shards = train_on_ranks(with(one, {divided}), 2, 2);
    for (const auto& rank : shards) {
        CHECK(rank.parameters.equal(whole[0].parameters));
        CHECK(rank.losses == whole[0].losses);
        CHECK(rank.skipped == whole[0].skipped);
    }
}

class WholeModels final : public Optimizer {
public:
    using Optimizer::Optimizer;
    void bind(const std::vector<ParameterGroup>&) override {}
    StepResult step(std::vector<ParameterGroup>&, const StepParams&) override { return {}; }
    OptimizerState state() const override { return {}; }
    void load(const OptimizerState&) override {}
};

}  // namespace

TEST_CASE("ranks that divide the state of the optimizer learn what one process learns") {
    check_all({{"bert", "classification", 2, {divided}},
               {"bert", "masked_lm", 3, {divided, "optimizer.backend=naive"}},
               {"gpt", "causal_lm", 2, {divided, "optimizer.backend=fused", "distributed.bucket_mb=0.001"}},
               {"gpt", "causal_lm", 3, {divided, "train.recompute=layers"}},
               {"t5", "seq2seq", 2, {divided}},
               {"t5", "seq2seq", 3, {divided, "optimizer.max_grad_norm=0.1"}}});
}

TEST_CASE("ranks that have the same part of a model divide its state of the optimizer") {
    check_all(
        {{"bert", "classification", 4, {divided, "optimizer.max_grad_norm=0.1"}, 2},
         {"gpt", "causal_lm", 4, {divided, "lora.rank=2"}, 2, 1, true},
         {"gpt", "causal_lm", 4, {divided, "optimizer.max_grad_norm=0.1"}, 1, 2},
         {"gpt", "causal_lm", 4, {divided, "optimizer.algorithm=lamb", "optimizer.backend=naive"}, 1, 2},
         {"t5", "seq2seq", 8, {divided, "optimizer.max_grad_norm=0.1"}, 2, 2}});
}

TEST_CASE("parameters are the same bits with a divided state, whatever the optimizer") {
    const auto check = [](const std::string& backend, const std::string& algorithm, const Sets& more = {}) {
        Case one{"gpt", "causal_lm", 2, {"optimizer.backend=" + backend, "optimizer.algorithm=" + algorithm}};
        one.more.emplace_back("optimizer.max_grad_norm=0");
        check_same_bits(with(one, more));
        one.ranks = 3;
        check_same_bits(with(one, more));
    };
    for (const std::string algorithm : {"adamw", "sgd", "lamb", "muon"}) check("naive", algorithm);
    for (const std::string algorithm : {"adamw", "adam", "sgd", "lion"}) check("torch", algorithm);
    check("torch@foreach", "adamw");
    for (const std::string algorithm : {"adamw", "lion", "lamb", "muon"}) check("fused", algorithm);
    const Sets in_8_bits{"optimizer.allow_reduced=true", "optimizer.options.optim8bit.min_8bit_size=512",
                         "optimizer.options.optim8bit.stochastic_rounding=true"};
    for (const std::string algorithm : {"adamw", "lion"}) check("optim8bit", algorithm, in_8_bits);
}

TEST_CASE("float32 masters are divided like the state") {
    const auto check = [](const Sets& more) {
        Case one{
            "bert", "classification", 2, {"precision.backend=amp/bf16_pure", "optimizer.max_grad_norm=0"}};
        check_same_bits(with(one, more));
    };
    for (const std::string backend : {"torch", "naive", "fused"}) check({"optimizer.backend=" + backend});
    check({"optimizer.backend=fused", "optimizer.options.fused.stochastic_rounding=true"});
}

TEST_CASE("each of two ranks has half of the state") {
    const Sets wide{"model.hidden_size=64", "model.intermediate_size=256"};
    for (const std::string backend : {"torch", "naive", "fused"}) {
        INFO(backend);
        const auto one = with({"gpt", "causal_lm", 2, {"optimizer.backend=" + backend}}, wide);
        const auto all = static_cast<double>(trained_by(one, 4, 1).state_bytes);
        for (const auto& rank : train_on_ranks(with(one, {divided}), 2, 1))
            CHECK(static_cast<double>(rank.state_bytes) / all == Approx(0.5).margin(0.02));
    }
}

TEST_CASE("an overflow on one rank skips the step on all that divide the state") {
    const OneLarge samples;
    const auto train = [&](const Sets& more) {
        const auto one = with({"bert",
                               "regression",
                               2,
                               {"precision.backend=amp/fp16", "train.epochs=4", "data_loader.shuffle=false",
                                "optimizer.max_grad_norm=0"}},
                              more);
        std::vector<Trained> all(2);
        as_ranks(2, [&](distributed::Group& group) {
            ShortTraining job(sets_of(one, 4, 1), samples, &group);
            auto& own = all[static_cast<std::size_t>(group.rank())];
            for (const auto& step : job.trainer.run({}).steps) own.skipped.push_back(step.skipped);
            own.parameters = values_of(job.session.parameters());
        });
        return all;
    };
    const auto whole = train({});
    CHECK(std::ranges::count(whole[0].skipped, true) > 0);
    CHECK(std::ranges::count(whole[0].skipped, false) > 0);
    for (const auto& rank : train({divided})) {
        CHECK(rank.skipped == whole[0].skipped);
        CHECK(rank.parameters.equal(whole[0].parameters));
    }
}

TEST_CASE("a gradient that is not finite changes nothing on any rank") {
    const auto one = with({"gpt", "causal_lm", 2, {"train.nonfinite=skip", "optimizer.lr=1e20"}}, {divided});
    const auto ranks = train_on_ranks(one, 4, 1);
    CHECK(std::ranges::count(ranks[0].skipped, true) > 0);
    CHECK(ranks[0].skipped == ranks[1].skipped);
    CHECK(ranks[0].parameters.equal(ranks[1].parameters));
}

TEST_CASE("what cannot be divided is refused with its key and the reason") {
    const auto refusal = [](const runtime::OptimizerOp& optimizer, std::int64_t values, const Sets& sets) {
        return [&optimizer, values, sets](distributed::Group& group) {
            const auto config = configured(sets_of({"gpt", "causal_lm", 2, sets}, 4, 1));
            Parameter only;
            only.name = "only";
            only.value = at::zeros({values}, at::kBFloat16);
            only.master = at::zeros({values});
            std::vector<ParameterGroup> groups{{"all", {}, {only}}};
            train::OptimizerShards(group, config, optimizer, groups);
        };
    };
    const FakeComponent<Optimizer, WholeModels> fake(GradientMode::none);
    runtime::BindingInfo info;
    info.slot = "optimizer";
    info.request = std::make_shared<OptimizerRequest>();
    const runtime::OptimizerOp whole_models(fake.loaded(), info);
    CHECK_THROWS_WITH(as_ranks(2, refusal(whole_models, 5000, {divided})),
                      contains("distributed.shard") && contains("steps whole models only") &&
                          contains("optimizer.backend"));

    const auto texts = texts_for("causal_lm");
    ShortTraining job(sets_of({"gpt", "causal_lm", 1}, 4, 1), texts);
    CHECK_THROWS_WITH(
        as_ranks(2, refusal(job.session.optimizer(), 30, {divided})),
        contains("distributed.shard") && contains("there is nothing that rank 0 of 2 could step"));
    CHECK_THROWS_WITH(as_ranks(2, refusal(job.session.optimizer(), 5000, {divided, "train.ema=0.9"})),
                      contains("train.ema") && contains("no average of the weights"));
}
