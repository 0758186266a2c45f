// Ranks that have ranges of the layers against one process that has all of them. To add a case: a line in
// `cases`.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/workbench/train/evaluate.h"
#include "core/workbench/train/optimizer_parts.h"
#include "core/workbench/train/parameter_groups.h"
#include "core/workbench/train/pipeline_step.h"
#include "core/workbench/train/sample_part.h"
#include "core/workbench/train/step_parts.h"
#include "rank_training.h"
#include "some_ranks.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

// `stages` of as many ranks as `data` and `tensor` make of it.
Case piped(const std::string& type, const std::string& task, std::int64_t stages, const Sets& more = {},
           std::int64_t data = 1, std::int64_t tensor = 1) {
    return {type, task, data * tensor * stages, more, tensor, stages};
}

const Sets gpipe{"distributed.schedule=gpipe"};

}  // namespace

TEST_CASE("two stages learn what one process learns, with dropout and an uneven last batch") {
    check_all({piped("bert", "classification", 2), piped("bert", "masked_lm", 2, {"batch.layout=packed"}),
               piped("gpt", "causal_lm", 2), piped("gpt", "causal_lm", 2, as_llama),
               piped("gpt", "causal_lm", 2, gpipe), piped("t5", "seq2seq", 2),
               piped("t5", "seq2seq", 2, gpipe)});
}

TEST_CASE("three stages of as many layers as cannot be divided learn what one process learns") {
    check_all({piped("bert", "regression", 3, {"model.layers=4"}),
               piped("bert", "classification", 2, {"model.norm_position=pre"}),
               piped("gpt", "causal_lm", 3, {"model.layers=5", "model.norm_position=post"}),
               piped("t5", "seq2seq", 3, {"batch.layout=packed", "model.activation=geglu_erf"}),
               piped("t5", "seq2seq", 3,
                     {"model.layers=1", "model.decoder_layers=2", "model.tie_embeddings=false"}),
               piped("t5", "seq2seq", 4)});
}

TEST_CASE("a mesh of two by two learns what one process learns") {
    check_all({piped("gpt", "causal_lm", 2, {"optimizer.max_grad_norm=0.1"}, 2),
               piped("t5", "seq2seq", 2, {}, 2),
               piped("gpt", "causal_lm", 2, {"optimizer.max_grad_norm=0.1"}, 1, 2),
               piped("t5", "seq2seq", 2, gpipe, 1, 2)});
}

TEST_CASE("stages step with every optimizer, clipped by the whole norm, run again and averaged") {
    const auto by = [](const std::string& algorithm, const std::string& backend) {
        return Sets{"optimizer.algorithm=" + algorithm, "optimizer.backend=" + backend,
                    "optimizer.max_grad_norm=0.1"};
    };
    check_all(
        {piped("gpt", "causal_lm", 2, by("lamb", "naive")), piped("gpt", "causal_lm", 2, by("muon", "naive")),
         piped("gpt", "causal_lm", 2, by("lion", "naive")),
         piped("bert", "masked_lm", 2, by("adam", "naive")), piped("gpt", "causal_lm", 2, by("sgd", "torch")),
         piped("t5", "seq2seq", 2, by("adamw", "fused")),
         piped("t5", "seq2seq", 2, {"train.recompute=layers"}),
         piped("gpt", "causal_lm", 2, {"train.recompute=attention", "train.ema=0.9"}),
         piped("bert", "masked_lm", 2, {"attention.backend=flash", "normalization.backend=fused"}),
         piped("gpt", "causal_lm", 2, {"loss.projection=true", "loss.backend=naive"}),
         piped("gpt", "causal_lm", 2, {"group=[{match=[\"decoder.0.*\"],frozen=true}]"})});
}

TEST_CASE("adapters of layers that stages have ranges of learn what they learn in one process") {
    check_all({piped("gpt", "causal_lm", 2, {"lora.rank=2", "lora.targets=[\"*\"]"}),
               piped("t5", "seq2seq", 3, {"lora.rank=2", "train.recompute=layers"}),
               piped("bert", "classification", 2, {"lora.rank=3", "lora.trained=[\"embeddings.word\"]"}, 2),
               piped("gpt", "causal_lm", 2, {"lora.rank=2", "optimizer.max_grad_norm=0.1"}, 1, 2)});
}

TEST_CASE("a step of one micro-batch, and of fewer than there are stages, is what one process does") {
    for (const std::int64_t accumulated : {1, 3}) {
        INFO(accumulated);
        const auto one = piped("gpt", "causal_lm", 4, {"model.layers=4"});
        const auto alone = trained_by(one, 4, accumulated);
        for (const auto& rank : train_on_ranks(one, 4, accumulated)) {
            CHECK(distance(rank.parameters, alone.parameters) <= 10 * rounding);
            CHECK(distance(rank.losses, alone.losses) <= 10 * rounding);
        }
    }
}

TEST_CASE("a gradient that is not finite in one stage is known to all, and no stage steps") {
    check_not_finite_on_one("distributed.mesh.pipeline=2", "decoder.1.attention.q.weight");
    const auto ranks =
        train_on_ranks(piped("gpt", "causal_lm", 2, {"train.nonfinite=skip", "optimizer.lr=1e20"}), 4, 1);
    CHECK(std::ranges::count(ranks[0].skipped, true) > 0);
    CHECK(ranks[0].skipped == ranks[1].skipped);
}

TEST_CASE("gradients of all stages are those of one process, and words have the sum of both their uses") {
    const auto texts = texts_for("seq2seq");
    for (const std::string schedule : {"1f1b", "gpipe"}) {
        INFO(schedule);
        auto sets = sets_of({"t5", "seq2seq", 1, {"distributed.schedule=" + schedule}}, 4, 3);
        ShortTraining alone(sets, texts);
        auto batches = alone.trainer.next_group();
        const auto loss = alone.trainer.accumulate(batches);
        sets.emplace_back("distributed.mesh.pipeline=3");
        as_ranks(3, [&](distributed::Group& group) {
            ShortTraining job(sets, texts, &group);
            auto own = job.trainer.next_group();
            const auto found = job.trainer.accumulate(own);
            double most = 0.0;
            std::size_t number = 0;
            const auto gradients = job.trainer.unscaled_gradients();
            for (const auto& parameter : job.session.parameters().all()) {
                const auto& whole = alone.session.parameters().find(parameter.name)->value;
                most = std::max(most, distance(gradients[number++], whole.grad()));
            }
            static std::mutex mutex;  // of Catch2's assertions
            const std::lock_guard lock(mutex);
            CHECK(found == Approx(loss).epsilon(1e-6));
            CHECK(number > 0);
            CHECK(most < 1e-5);
        });
    }
}

TEST_CASE("an evaluation that passes through stages says what one process says") {
    for (const auto& [type, task] : {std::pair{"bert", "classification"}, std::pair{"t5", "seq2seq"}}) {
        INFO(type);
        const auto texts = texts_for(task);
        const auto one = piped(type, task, 2, {}, 2);
        const auto evaluated = [&](ShortTraining& job, const SampleSource& samples,
                                   const train::EvalHooks& hooks) {
            return train::evaluate(job.session.config(), job.session.plan(), job.session.model(),
                                   job.session.start_eval_loader(lent(samples)), hooks);
        };
        ShortTraining job(sets_of(one, 4, 1), texts);
        const auto alone = evaluated(job, texts, {});
        std::vector<train::EvalResult> all(4);
        as_ranks(4, [&](distributed::Group& group) {
            auto sets = sets_of(one, 4, 1);
            sets.emplace_back("distributed.mesh.pipeline=2");
            ShortTraining part_job(sets, texts, &group);
            const auto& mesh = part_job.session.model_parts()->mesh();
            const train::SamplePart part(lent(texts), mesh.data_index(), 2);
            train::EvalHooks hooks;
            hooks.mesh = &mesh;
            hooks.first_sample = part.first();
            hooks.pipeline = part_job.trainer.pipeline();
            all[static_cast<std::size_t>(group.rank())] = evaluated(part_job, part, hooks);
        });
        for (const auto& rank : all) {
            CHECK(rank.complete);
            CHECK(rank.samples == alone.samples);
            CHECK(rank.labels == alone.labels);
            CHECK(rank.loss == Approx(alone.loss).epsilon(1e-6));
            CHECK(rank.accuracy == alone.accuracy);
            CHECK(rank.worst.size() == alone.worst.size());
        }
    }
}

namespace {

// Names of all that a process writes of the checkpoint of the last step.
std::set<std::string> saved_names(const Sets& sets, distributed::Group* group) {
    const auto texts = texts_for("causal_lm");
    std::set<std::string> names;
    ShortTraining job(sets, texts, group);
    train::TrainerHooks hooks;
    hooks.save = [&](const train::TrainingState& state, const model::Parameters& parameters) {
        names.clear();
        for (const auto& entry : state.optimizer.entries) names.insert(entry.parameter + " " + entry.key);
        for (const auto& [name, master] : state.masters) names.insert("master " + name);
        for (const auto& [name, value] : state.average) names.insert("average " + name);
        for (const auto& entry : state.precision.entries) names.insert("precision " + entry.key);
        for (const auto& parameter : parameters.all()) names.insert("value " + parameter.name);
        return std::string();
    };
    const auto result = job.trainer.run(hooks);
    if (!result.error.empty()) throw std::runtime_error(result.error);
    return names;
}

}  // namespace

TEST_CASE("stages learn in narrower numbers what one process learns, and save all that it saves") {
    const Sets float8{"precision.backend=fp8", "precision.options.fp8.cpu_reference=true",
                      "precision.options.fp8.min_intensity=0.0", "precision.options.fp8.recipe=delayed",
                      "linear.backend=auto"};
    for (const auto& more : {Sets{"precision.backend=amp/bf16", "model.norm_position=post"},
                             Sets{"precision.backend=amp/bf16_pure", "train.ema=0.9"}, float8,
                             Sets{"optimizer.backend=optim8bit", "optimizer.allow_reduced=true",
                                  "optimizer.options.optim8bit.min_8bit_size=512"}}) {
        INFO(more.front());
        const auto one = piped("gpt", "causal_lm", 2, more);
        const auto alone = trained_by(one, 4, 2);
        for (const auto& rank : train_on_ranks(one, 4, 2)) {
            CHECK(distance(rank.parameters, alone.parameters) < 0.01);
            CHECK(distance(rank.losses, alone.losses) < 0.01);
        }
        const auto expected = saved_names(sets_of(one, 4, 2), nullptr);
        auto sets = sets_of(one, 4, 2);
        sets.emplace_back("distributed.mesh.pipeline=2");
        std::set<std::string> of_ranks[2];
        as_ranks(2, [&](distributed::Group& group) { of_ranks[group.rank()] = saved_names(sets, &group); });
        auto saved = of_ranks[0];
        for (const auto& name : of_ranks[1]) CHECK(saved.insert(name).second);
        CHECK(saved == expected);
    }
}
