// Steps in which something is not finite: a parameter's gradient is made so by a hook. To add a case: which
// steps, which rule, and by another way the same parameters.
#include <filesystem>
#include <limits>
#include <set>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>

#include "core/workbench/train/checkpoint.h"
#include "core/workbench/train/checkpoint_folder.h"

#include "short_training.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

// Twelve texts of words that are to be told, each a batch.
class TokenTexts final : public SampleSource {
public:
    std::int64_t size() const override { return 12; }
    std::int64_t length(std::int64_t) const override { return 5; }
    Sample get(std::int64_t index, std::int64_t) const override {
        Sample sample;
        for (std::int64_t i = 0; i < 5; ++i) {
            sample.ids.push_back((index * 7 + i * 3) % 20);
            sample.labels.push_back((index + i) % 20);
        }
        return sample;
    }
};

const TokenTexts texts;

std::vector<std::string> overrides(const std::vector<std::string>& more) {
    std::vector<std::string> all = {"model.type=bert",
                                    "model.layers=1",
                                    "model.hidden_size=8",
                                    "model.heads=2",
                                    "model.intermediate_size=16",
                                    "model.vocab_size=20",
                                    "model.max_positions=8",
                                    "batch.max_length=8",
                                    "batch.size=1",
                                    "train.steps=6",
                                    "train.schedule=constant",
                                    "train.warmup_ratio=0",
                                    "train.checkpoint_every=2",
                                    "optimizer.lr=0.01",
                                    "data_loader.shuffle=false",
                                    "precision.backend=torch/fp32",
                                    "runtime.auto=priority"};
    for (const std::string slot :
         {"attention", "normalization", "activation", "loss", "linear", "optimizer", "data_loader"})
        all.push_back(slot + ".backend=torch");
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

// A trainer whose gradients of one parameter are `value` in the tries of `bad`, counted from 1.
struct Job : test::ShortTraining {
    explicit Job(const std::vector<std::string>& more = {}, std::set<int> bad_tries = {})
        : ShortTraining(overrides(more), texts),
          bad(std::move(bad_tries)),
          folder(test::temporary_dir("nonfinite").string()) {
        session.parameters().all()[3].value.register_hook([this](const at::Tensor& gradient) {
            if (!bad.contains(++tries)) return gradient;
            return at::full_like(gradient, value);
        });
    }

    train::TrainingResult run() {
        train::TrainerHooks hooks;
        hooks.save = [this](const train::TrainingState& state, const model::Parameters& parameters) {
            return train::save_checkpoint(folder, state, parameters, 10).value_or("");
        };
        hooks.reload = [this] { return load(); };
        hooks.on_rewind = [this](const train::Rewind&) {
            stopping = stops_after_rewind;
            return std::string();
        };
        hooks.stop = [this] { return stopping; };
        return trainer.run(hooks);
    }
    train::LoadedCheckpoint load() {
        return train::load_checkpoint(*train::newest_checkpoint(folder), session.plan_text(),
                                      session.parameters());
    }
    std::vector<at::Tensor> values() {
        std::vector<at::Tensor> all;
        for (const auto& parameter : session.parameters().all())
            all.push_back(parameter.value.detach().clone());
        return all;
    }
    std::string bad_name() { return session.parameters().all()[3].name; }

    std::set<int> bad;
    float value = std::numeric_limits<float>::infinity();
    bool stops_after_rewind = false, stopping = false;
    int tries = 0;
    std::string folder;
};

bool equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!a[i].equal(b[i])) return false;
    }
    return a.size() == b.size();
}

constexpr const char* advice =
    ": lower optimizer.lr, raise train.warmup_ratio, or look with `switchyard diagnose`; `switchyard train` "
    "with "
    "--resume --trace-nonfinite names the layer and operation";

}  // namespace

// What still held them would add to the peak of the next step's forward.
TEST_CASE("a step that is over, taken or not, holds none of its gradients") {
    for (const bool skipped : {false, true}) {
        INFO(skipped);
        Job job({"train.nonfinite=skip"}, skipped ? std::set<int>{1, 2} : std::set<int>{});
        std::vector<Batch> batches(1);
        REQUIRE(job.session.train_loader().next(batches[0]));
        (void)job.trainer.accumulate(batches);  // the step adds to what is there
        std::vector<c10::weak_intrusive_ptr<at::TensorImpl>> gradients;
        for (const auto& parameter : job.session.parameters().all()) {
            if (parameter.value.grad().defined())
                gradients.emplace_back(parameter.value.grad().getIntrusivePtr());
        }
        REQUIRE(gradients.size() > 10);
        CHECK(job.trainer.step(batches).skipped == skipped);
        for (const auto& gradient : gradients) CHECK(gradient.expired());
    }
}

TEST_CASE("stop: nothing is changed by the step, and the error says what was not finite") {
    for (const char* norm : {"optimizer.max_grad_norm=1", "optimizer.max_grad_norm=0"}) {
        INFO(norm);
        Job job({norm}, {3});
        const auto result = job.run();
        CHECK(result.outcome == train::Outcome::failed);
        CHECK(result.numerics);
        const auto count = std::to_string(job.session.parameters().all()[3].value.numel());
        CHECK(result.error == "the gradient of " + job.bad_name() + " (" + count + " of " + count +
                                  " values) is not finite at step 3" + advice);
        Job before({norm, "train.steps=2"});
        (void)before.run();
        CHECK(equal(job.values(), before.values()));
    }
}

TEST_CASE("the gradient that is not finite is named alone, whichever optimizer clips") {
    for (const std::string optimizer : {"torch", "fused", "naive"}) {
        INFO(optimizer);
        Job job({"optimizer.max_grad_norm=1", "optimizer.backend=" + optimizer}, {1});
        job.value = std::numeric_limits<float>::quiet_NaN();
        CHECK_THAT(job.run().error, test::contains("the gradient of " + job.bad_name() + " (") &&
                                        test::contains(" values) is not finite at step 1"));
    }
}

TEST_CASE("a loss scale is not lowered for ever where no scale helps") {
    std::set<int> all;
    for (int i = 1; i <= 60; ++i) all.insert(i);
    for (const std::string rule : {"stop", "skip"}) {
        INFO(rule);
        Job job({"precision.backend=amp/fp16", "train.steps=52", "train.checkpoint_every=0",
                 "train.nonfinite=" + rule},
                all);
        const auto result = job.run();
        const auto count = std::to_string(job.session.parameters().all()[3].value.numel());
        REQUIRE(result.steps.size() >= 50);
        CHECK(result.steps[48].skipped);
        CHECK(result.steps[48].nonfinite == "");
        const auto& told = result.steps[49];
        CHECK(told.nonfinite == "50 steps in a row were skipped, whatever the loss scale: the gradient of " +
                                    job.bad_name() + " (" + count + " of " + count +
                                    " values) is not finite");
        const bool skips = rule == "skip";
        CHECK(told.skipped == skips);
        CHECK(result.numerics == !skips);
        CHECK(result.progression.step == (skips ? 52 : 50));
        CHECK(result.progression.nonfinite_steps == (skips ? 3 : 1));
        CHECK(result.progression.skipped_steps == (skips ? 52 : 49));
    }
}

TEST_CASE("a loss scale that does not fall is doubted, too") {
    std::set<int> all;
    for (int i = 1; i <= 60; ++i) all.insert(i);
    const std::vector<std::string> constant{
        "precision.backend=amp/fp16", "precision.options.fp16.backoff_factor=1.0",
        "precision.options.fp16.init_scale=1e30", "train.steps=52", "train.checkpoint_every=0"};
    Job job(constant, all);
    const auto result = job.run();
    CHECK(result.progression.step == 50);
    CHECK(result.numerics);
    CHECK_THAT(result.error, test::contains("50 steps in a row were skipped, and the loss scale stays at "
                                            "1.0e+30: the gradients of ") &&
                                 test::contains(" at step 50: lower optimizer.lr"));
}

TEST_CASE("skip: the step counts, its batch is left out") {
    for (const char* norm : {"optimizer.max_grad_norm=1", "optimizer.max_grad_norm=0"}) {
        INFO(norm);
        Job job({norm, "train.nonfinite=skip", "model.dropout=0", "model.attention_dropout=0"}, {3});
        const auto result = job.run();
        CHECK(result.outcome == train::Outcome::finished);
        CHECK(result.progression.step == 6);
        CHECK(result.progression.skipped_steps == 1);
        CHECK(result.progression.nonfinite_steps == 1);
        // The same without that batch, step by step.
        Job other({norm, "model.dropout=0", "model.attention_dropout=0"});
        for (int batch = 1; batch <= 6; ++batch) {
            std::vector<Batch> group(1);
            REQUIRE(other.session.train_loader().next(group[0]));
            if (batch != 3) (void)other.trainer.step(group);
        }
        CHECK(equal(job.values(), other.values()));
    }
}

TEST_CASE("rewind: as a resumption from the checkpoint whose data begin after the batch that did it") {
    Job job({"train.nonfinite=rewind"}, {4});
    const auto result = job.run();
    CHECK(result.outcome == train::Outcome::finished);
    REQUIRE(result.rewinds.size() == 1);
    CHECK(result.rewinds[0].from == 4);
    CHECK(result.rewinds[0].to == 2);
    CHECK(result.progression.step == 6);
    CHECK(result.progression.rewinds == 1);
    CHECK(result.progression.loader.batch == 8);

    Job first({"train.steps=2"});
    (void)first.run();
    Job other;
    std::filesystem::remove_all(other.folder);
    std::filesystem::rename(first.folder, other.folder);
    auto loaded = other.load();
    INFO(loaded.error);
    REQUIRE(loaded.state);
    loaded.state->progression.loader.batch = 4;
    other.trainer.restore(*loaded.state);
    (void)other.run();
    CHECK(equal(job.values(), other.values()));
}

TEST_CASE("rewind: a stop before the next step saves what was learnt from it") {
    Job whole({"train.nonfinite=rewind"}, {4});
    (void)whole.run();
    Job job({"train.nonfinite=rewind"}, {4});
    job.stops_after_rewind = true;
    const auto stopped = job.run();
    CHECK(stopped.outcome == train::Outcome::stopped);
    CHECK(stopped.progression.step == 2);

    Job resumed({"train.nonfinite=rewind"});
    resumed.folder = job.folder;
    const auto loaded = resumed.load();
    INFO(loaded.error);
    REQUIRE(loaded.state);
    CHECK(loaded.state->progression.step == 2);
    CHECK(loaded.state->progression.loader.batch == 4);
    CHECK(loaded.state->progression.rewinds == 1);
    CHECK(loaded.state->progression.nonfinite_steps == 1);
    resumed.trainer.restore(*loaded.state);
    const auto result = resumed.run();
    CHECK(result.outcome == train::Outcome::finished);
    CHECK(result.progression.rewinds == 1);
    CHECK(equal(resumed.values(), whole.values()));
}

TEST_CASE("rewind: before the first checkpoint the beginning is one") {
    Job job({"train.nonfinite=rewind"}, {1});
    const auto result = job.run();
    CHECK(result.outcome == train::Outcome::finished);
    REQUIRE(result.rewinds.size() == 1);
    CHECK(result.rewinds[0].to == 0);
}

TEST_CASE("rewind: not without end, and not without a checkpoint") {
    Job job({"train.nonfinite=rewind", "train.max_rewinds=2"}, {3, 4, 5});
    const auto result = job.run();
    CHECK(result.outcome == train::Outcome::failed);
    CHECK(result.rewinds.size() == 2);
    CHECK_THAT(result.error, test::contains(" is not finite at step 3; the run was rewound 2 times before, "
                                            "train.max_rewinds allows no more: lower optimizer.lr"));
    Job bare({"train.nonfinite=rewind"}, {1});
    CHECK_THAT(
        bare.trainer.run({}).error,
        test::contains(" is not finite at step 1; there is no checkpoint to rewind to: lower optimizer.lr"));
}

TEST_CASE("a trace names a parameter that is not finite where it is used first") {
    Job job;
    train::NonfiniteTrace trace;
    job.trainer.set_trace(&trace);
    {
        at::NoGradGuard no_grad;
        for (const auto& parameter : job.session.parameters().all()) {
            if (parameter.name == "encoder.0.attention.k.weight")
                parameter.value.view({-1})[5].fill_(std::numeric_limits<float>::quiet_NaN());
        }
    }
    const auto result = job.run();
    CHECK(result.numerics);
    CHECK(result.error ==
          "step 1: encoder.0.attention.k: linear (torch/torch), forward input weight: 1 NaN of 64 values, "
          "float32 [8, 8]");
}
