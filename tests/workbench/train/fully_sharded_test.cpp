// Ranks that divide parameters, gradients and the optimizer's state against one process that has all their
// samples in one batch, and what they keep in memory between steps.
// To add a case: a line in `cases`.
#include <algorithm>
#include <string>
#include <vector>

#include "core/workbench/model/parameter_storage.h"
#include "rank_training.h"
#include "some_ranks.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

const std::string full = "distributed.shard=full";

}  // namespace

TEST_CASE("ranks that divide parameters learn what one process learns") {
    check_all({{"bert", "classification", 2, {full}},
               {"bert", "masked_lm", 3, {full, "optimizer.backend=naive"}},
               {"gpt", "causal_lm", 2, {full, "optimizer.backend=fused"}},
               {"gpt", "causal_lm", 3, {full, "batch.layout=packed"}},
               {"t5", "seq2seq", 2, {full}},
               {"t5", "seq2seq", 3, {full, "optimizer.max_grad_norm=0.1"}}});
}

TEST_CASE("ranks that divide parameters learn what one process learns with every optimizer and clipping") {
    for (const std::string algorithm : {"adamw", "adam", "sgd", "lion", "lamb", "muon"}) {
        check_all({{"gpt",
                    "causal_lm",
                    2,
                    {full, "optimizer.algorithm=" + algorithm, "optimizer.backend=naive",
                     "optimizer.max_grad_norm=0.5"}}});
    }
    check_all({{"gpt", "causal_lm", 3, {full, "optimizer.algorithm=muon", "optimizer.backend=fused"}},
               {"bert", "classification", 2, {full, "model.norm_position=pre", "optimizer.max_grad_norm=0"}},
               {"gpt", "causal_lm", 2, {full, "model.norm_position=post", "model.layers=1"}}});
}

TEST_CASE("ranks that divide parameters run layers again, or parts of them, as one process does") {
    check_all({{"gpt", "causal_lm", 2, {full, "train.recompute=layers"}},
               {"bert", "masked_lm", 2, {full, "train.recompute=attention", "model.norm_position=pre"}},
               {"t5", "seq2seq", 3, {full, "train.recompute=layers", "train.recompute_every=2"}},
               {"t5", "seq2seq", 2, {full, "train.recompute=feed_forward"}}});
    const auto of = [](const std::string& again) {
        return train_on_ranks({"gpt", "causal_lm", 2, {full, "train.recompute=" + again}}, 2, 2)[0];
    };
    CHECK(of("none").parameters.equal(of("layers").parameters));
}

TEST_CASE("ranks that have the same part of each layer divide its parameters") {
    check_all({{"bert", "classification", 4, {full, "optimizer.max_grad_norm=0.1"}, 2},
               {"gpt", "causal_lm", 4, {full, "train.recompute=layers"}, 2, 1, true},
               {"gpt", "causal_lm", 6, {full, "optimizer.max_grad_norm=0.1", "batch.layout=packed"}, 2},
               {"t5", "seq2seq", 4, {full, "train.recompute=attention"}, 2}});
}

TEST_CASE("what is not trained is divided and gathered with what is") {
    check_all({{"gpt", "causal_lm", 2, {full, "lora.rank=2"}},
               {"bert",
                "classification",
                3,
                {full, R"(group=[{match=["encoder.0.*","encoder.1.feed_forward.*"],frozen=true}])"}}});
}

TEST_CASE("ranks that divide parameters are near those that do not in other numbers") {
    const Case one{"gpt", "causal_lm", 2};
    const auto check = [&](const Sets& more, double allowed) {
        INFO(more.front());
        const auto whole = train_on_ranks(with(one, more), 2, 2);
        const auto divided = train_on_ranks(with(with(one, more), {full}), 2, 2);
        for (const auto& rank : divided) {
            CHECK(distance(rank.parameters, whole[0].parameters) < allowed);
            CHECK(distance(rank.losses, whole[0].losses) < allowed);
            CHECK(rank.parameters.equal(divided[0].parameters));
        }
    };
    check({"precision.backend=amp/bf16"}, 0.01);
    check({"precision.backend=amp/bf16_pure"}, 0.01);
    check({"precision.backend=fp8", "precision.options.fp8.cpu_reference=true",
           "precision.options.fp8.min_intensity=0.0", "linear.backend=auto"},
          0.02);
    check({"distributed.compression=bfloat16"}, 0.01);
    check({"optimizer.backend=optim8bit", "optimizer.allow_reduced=true",
           "optimizer.options.optim8bit.min_8bit_size=512"},
          0.01);
}

TEST_CASE("each of two ranks keeps about half of everything, and parameters no memory") {
    const Sets wide{"model.hidden_size=64", "model.intermediate_size=256"};
    for (const auto& [type, task] : {std::pair{"gpt", "causal_lm"}, std::pair{"t5", "seq2seq"}}) {
        INFO(type);
        const auto one = with({type, task, 2}, wide);
        const auto alone = trained_by(one, 4, 1);
        CHECK(alone.held_bytes > 0);
        const auto all = static_cast<double>(alone.kept_bytes + alone.state_bytes);
        for (const auto& rank : train_on_ranks(with(one, {full}), 2, 1)) {
            CHECK(static_cast<double>(rank.kept_bytes + rank.state_bytes) / all == Approx(0.5).margin(0.02));
            CHECK(rank.held_bytes == 0);
        }
    }
}

TEST_CASE("an overflow on one rank skips the step on all that divide parameters") {
    const OneLarge samples;
    const auto train = [&](const std::string& shard) {
        const auto one = with({"bert",
                               "regression",
                               2,
                               {"precision.backend=amp/fp16", "train.epochs=4", "data_loader.shuffle=false"}},
                              {"distributed.shard=" + shard});
        std::vector<Trained> all(2);
        as_ranks(2, [&](distributed::Group& group) {
            ShortTraining job(sets_of(one, 4, 1), samples, &group);
            auto& trained = all[static_cast<std::size_t>(group.rank())];
            for (const auto& step : job.trainer.run({}).steps) trained.skipped.push_back(step.skipped);
            trained.parameters = values_of(job.session.parameters());
        });
        return all;
    };
    const auto whole = train("none");
    CHECK(std::ranges::count(whole[0].skipped, true) > 0);
    CHECK(std::ranges::count(whole[0].skipped, false) > 0);
    for (const auto& rank : train("full")) {
        CHECK(rank.skipped == whole[0].skipped);
        CHECK(distance(rank.parameters, whole[0].parameters) < 1e-4);
    }
}

TEST_CASE("a gradient that is not finite changes nothing on any rank that divides parameters") {
    for (const std::string norm : {"0", "1.0"}) {
        for (const std::int64_t tensor : {1, 2}) {
            INFO("optimizer.max_grad_norm=" << norm << ", " << tensor << " parts of each layer");
            const auto one =
                with({"gpt", "causal_lm", 2 * tensor, {"train.nonfinite=skip", "optimizer.lr=1e20"}, tensor},
                     {full, "optimizer.max_grad_norm=" + norm});
            const auto ranks = train_on_ranks(one, 4, 1);
            CHECK(std::ranges::count(ranks[0].skipped, true) > 0);
            for (const auto& rank : ranks) {
                CHECK(rank.skipped == ranks[0].skipped);
                CHECK(rank.parameters.equal(ranks[0].parameters));
            }
        }
    }
}

TEST_CASE("an average of weights is refused where no rank has them all") {
    const auto texts = texts_for("causal_lm");
    const auto config = configured(sets_of({"gpt", "causal_lm", 2, {full, "train.ema=0.9"}}, 4, 1));
    const auto problems = train::rank_problems(config);
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems[0],
               contains("train.ema") && contains("no rank has all weights") && contains("expected 0"));
}
