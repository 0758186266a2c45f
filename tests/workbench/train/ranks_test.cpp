// Two and three ranks against one process that has all their samples in one batch. How far they may be apart
// is what one process is from itself that has the same batch in as many parts. To add a case: a line in
// `cases`.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/train/data_parallel.h"
#include "core/workbench/train/parameter_shards.h"
#include "core/workbench/train/sample_part.h"
#include "rank_training.h"
#include "some_ranks.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

// The loss of the first step is not finite.
class FirstTooLarge final : public SampleSource {
public:
    std::int64_t size() const override { return 16; }
    std::int64_t length(std::int64_t) const override { return 4; }
    Sample get(std::int64_t index, std::int64_t epoch) const override {
        Sample sample;
        sample.ids = {1, 2 + index, 3, 4};
        sample.float_labels = {index == 0 && epoch == 0 ? 1e30F : 0.5F};
        return sample;
    }
};

}  // namespace

TEST_CASE("ranks learn what one process learns, with dropout, accumulation and an uneven last batch") {
    check_all({{"bert", "classification", 2},
               {"bert", "masked_lm", 3},
               {"bert", "regression", 3},
               {"gpt", "causal_lm", 2},
               {"gpt", "causal_lm", 3, {"train.recompute=layers"}},
               {"t5", "seq2seq", 2},
               {"t5", "seq2seq", 3}});
}

TEST_CASE("ranks learn what one process learns in the packed layout") {
    check_all({{"bert", "classification", 3, {"batch.layout=packed"}},
               {"gpt", "causal_lm", 2, {"batch.layout=packed"}},
               {"t5", "seq2seq", 3, {"batch.layout=packed"}}});
}

TEST_CASE("ranks learn what one process learns with every optimizer, clipping and many buckets") {
    const auto check = [](const std::string& backend, const std::string& algorithm) {
        check_all({{"gpt",
                    "causal_lm",
                    2,
                    {"optimizer.algorithm=" + algorithm, "optimizer.backend=" + backend,
                     "optimizer.max_grad_norm=0.5", "distributed.bucket_mb=0.001"}}});
    };
    for (const std::string algorithm : {"adamw", "adam", "sgd", "lion", "lamb", "muon"}) {
        check("naive", algorithm);
        check("fused", algorithm);
    }
    for (const std::string algorithm : {"adamw", "adam", "sgd", "lion"}) check("torch", algorithm);
}

TEST_CASE("ranks whose optimizer keeps its state in 8 bits are near one process") {
    for (const std::string algorithm : {"adamw", "lion"}) {
        INFO(algorithm);
        const Case one{"gpt",
                       "causal_lm",
                       2,
                       {"optimizer.algorithm=" + algorithm, "optimizer.backend=optim8bit",
                        "optimizer.allow_reduced=true", "optimizer.options.optim8bit.min_8bit_size=512"}};
        const auto alone = trained_by(one, 4, 2);
        for (const auto& rank : train_on_ranks(one, 2, 2)) {
            CHECK(distance(rank.parameters, alone.parameters) < 0.01);
            CHECK(distance(rank.losses, alone.losses) < 0.01);
        }
    }
}

TEST_CASE("the learning rate follows the number of ranks where that is asked for") {
    struct Rule {
        std::string rule;
        double factor;
    };
    for (const auto& [rule, factor] : {Rule{"linear", 2.0}, Rule{"sqrt", std::sqrt(2.0)}}) {
        INFO(rule);
        const Sets sgd{"optimizer.algorithm=sgd", "distributed.lr_scaling=" + rule};
        const auto ranks = train_on_ranks({"gpt", "causal_lm", 2, sgd}, 4, 1);
        for (const auto& rank : ranks) CHECK(rank.learning_rate == Approx(0.003 * factor));  // is told
        Case one{"gpt", "causal_lm", 2, sgd};
        one.more.push_back("optimizer.lr=" + std::to_string(0.003 * factor));
        CHECK(distance(ranks[0].parameters, trained_by(one, 8, 1).parameters) < 1e-6);
        one.more.emplace_back("optimizer.lr=0.003");
        CHECK(distance(ranks[0].parameters, trained_by(one, 8, 1).parameters) > 1e-5);
    }
}

TEST_CASE("gradients that travel as bfloat16 are nearly the same") {
    const auto ranks = train_on_ranks({"gpt", "causal_lm", 2, {"distributed.compression=bfloat16"}}, 4, 1);
    const auto alone = trained_by({"gpt", "causal_lm"}, 8, 1);
    CHECK(ranks[0].parameters.equal(ranks[1].parameters));
    CHECK(distance(ranks[0].parameters, alone.parameters) > 0.0);
    CHECK(distance(ranks[0].losses, alone.losses) < 0.01);
}

TEST_CASE("an evaluation in parts says what one of all samples says") {
    struct Way {
        std::string task;
        std::int64_t batch = 4;
        bool divided = false;  // parameters are, and not all ranks have as many batches
    };
    for (const auto& way : {Way{"classification"}, Way{"regression"}, Way{"classification", 7, true}}) {
        const auto& task = way.task;
        INFO(task << (way.divided ? ", divided" : ""));
        const Case one{"bert", task, 3};
        const auto texts = texts_for(task);
        ShortTraining job(sets_of(one, 4, 1), texts);
        const auto evaluated = [&](ShortTraining& job, const SampleSource& samples,
                                   const train::EvalHooks& hooks) {
            return train::evaluate(job.session.config(), job.session.plan(), job.session.model(),
                                   job.session.start_eval_loader(lent(samples)), hooks);
        };
        const auto alone = evaluated(job, texts, {});
        std::vector<train::EvalResult> all(3);
        test::as_ranks(3, [&](distributed::Group& group) {
            ShortTraining part_job(sets_of(one, way.batch, 1), texts);
            const train::SamplePart part(lent(texts), group.rank(), 3);
            train::EvalHooks hooks;
            std::optional<train::ParameterShards> shards;
            if (way.divided) {
                auto& session = part_job.session;
                shards.emplace(group, session.config(), session.parameters(), 64,
                               session.plan().precision().weights());
                hooks.parameters = &*shards;
            }
            const distributed::Mesh mesh(group, {});
            hooks.mesh = &mesh;
            hooks.first_sample = part.first();
            all[static_cast<std::size_t>(group.rank())] = evaluated(part_job, part, hooks);
        });
        for (const auto& rank : all) {
            CHECK(rank.complete);
            CHECK(rank.samples == 23);
            CHECK(rank.labels == alone.labels);
            CHECK(rank.loss == Approx(alone.loss).epsilon(1e-6));
            CHECK(rank.accuracy == alone.accuracy);
            REQUIRE(rank.metrics.size() == alone.metrics.size());
            for (std::size_t i = 0; i < alone.metrics.size(); ++i) {
                CHECK(rank.metrics[i].first == alone.metrics[i].first);
                // A correlation of what hardly varies has few digits.
                CHECK(rank.metrics[i].second == Approx(alone.metrics[i].second).epsilon(1e-4).margin(0.01));
            }
            REQUIRE(rank.worst.size() == alone.worst.size());
            for (std::size_t i = 0; i < alone.worst.size(); ++i) {
                const auto& worst = rank.worst[i];
                CHECK(worst.loss == Approx(alone.worst[i].loss).epsilon(1e-4));
                CHECK(worst.label == (task == "regression" ? std::to_string(worst.sample % 5)
                                                           : std::string(1, "abc"[worst.sample % 3])));
            }
        }
    }
}

TEST_CASE("ranks that begin with other weights are refused") {
    const auto texts = texts_for("causal_lm");
    const auto act = [&](distributed::Group& group) {
        const Case one{"gpt", "causal_lm", 2, {"run.seed=" + std::to_string(group.rank())}};
        ShortTraining job(sets_of(one, 4, 1), texts, &group);
    };
    CHECK_THROWS_WITH(test::as_ranks(2, act), test::contains("ranks 0 and 1 begin with other values of"));
}

TEST_CASE("a rank that is asked to stop stops all before the same step") {
    const auto texts = texts_for("causal_lm");
    std::vector<train::TrainingResult> results(2);
    test::as_ranks(2, [&](distributed::Group& group) {
        ShortTraining job(sets_of({"gpt", "causal_lm"}, 2, 1), texts, &group);
        train::TrainerHooks hooks;
        std::int64_t asked = 0;
        hooks.stop = [&] { return group.rank() == 1 && ++asked > 3; };
        results[static_cast<std::size_t>(group.rank())] = job.trainer.run(hooks);
    });
    for (const auto& result : results) {
        CHECK(result.outcome == train::Outcome::stopped);
        CHECK(result.error == "");
        CHECK(result.steps.size() == 3);
    }
}

TEST_CASE("a rank that has gone back to a checkpoint waits for those that read it more slowly") {
    const FirstTooLarge samples;
    const Case one{"bert", "regression", 2, {"train.nonfinite=rewind", "data_loader.shuffle=false"}};
    std::vector<train::TrainingResult> results(2);
    bool waits = false;
    test::as_ranks(2, [&](distributed::Group& group) {
        ShortTraining job(sets_of(one, 4, 1), samples, &group);
        const auto begun = job.trainer.state();
        train::TrainerHooks hooks;
        hooks.reload = [&] {
            // The other one is there already: at its second meeting, and not in a sum, which has less time.
            if (group.rank() == 1) waits = group.store().wait({"reloaded 2/0"}, 60.0);
            return train::LoadedCheckpoint{begun, ""};
        };
        results[static_cast<std::size_t>(group.rank())] = job.trainer.run(hooks);
    });
    CHECK(waits);
    for (const auto& result : results) {
        CHECK(result.outcome == train::Outcome::finished);
        CHECK(result.error == "");
        CHECK(result.rewinds.size() == 1);
    }
}

TEST_CASE("an overflow on one rank skips the step on all") {
    const OneLarge samples;
    const Case one{"bert",
                   "regression",
                   2,
                   {"precision.backend=amp/fp16", "train.epochs=4", "data_loader.shuffle=false"}};
    std::vector<std::vector<bool>> skipped(2);
    std::vector<at::Tensor> first(2);
    test::as_ranks(2, [&](distributed::Group& group) {
        ShortTraining job(sets_of(one, 4, 1), samples, &group);
        const auto rank = static_cast<std::size_t>(group.rank());
        for (const auto& step : job.trainer.run({}).steps) skipped[rank].push_back(step.skipped);
        first[rank] = job.session.parameters().all().front().value.detach().clone();
    });
    CHECK(skipped[0] == skipped[1]);
    CHECK(std::ranges::count(skipped[0], true) > 0);
    CHECK(std::ranges::count(skipped[0], false) > 0);
    CHECK(first[0].equal(first[1]));
}
