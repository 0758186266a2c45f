// Micro-batches without a single label, as masked language models and long texts make them: they weigh
// nothing, and nothing becomes infinite.
// To add a task or a backend: a line in `cases`. The oracle is the same step in one batch.
#include <algorithm>
#include <cmath>

#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros_like.h>

#include "core/workbench/train/best_so_far.h"

#include "short_training.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

constexpr std::int64_t without_label = -100, classes = 3;

// Four texts; `labelled` says which have labels: one of two words.
class LabelledTexts final : public SampleSource {
public:
    explicit LabelledTexts(std::vector<bool> labelled) : labelled_(std::move(labelled)) {}
    std::int64_t size() const override { return static_cast<std::int64_t>(labelled_.size()); }
    std::int64_t length(std::int64_t index) const override { return 3 + index; }
    Sample get(std::int64_t index, std::int64_t) const override {
        Sample sample;
        for (std::int64_t i = 0; i < length(index); ++i) {
            sample.ids.push_back(5 + (index * 7 + i * 3) % 20);
            const bool labelled = labelled_[static_cast<std::size_t>(index)] && i % 2 == 1;
            sample.labels.push_back(labelled ? (index + i) % classes : without_label);
        }
        return sample;
    }

private:
    std::vector<bool> labelled_;
};

struct Case {
    std::string task, backend, layout;
    std::vector<std::string> more = {};
};

std::vector<std::string> overrides(const Case& what, std::int64_t batch) {
    std::vector<std::string> all;
    for (const std::string slot : {"attention", "normalization", "activation", "loss"})
        all.push_back(slot + ".backend=" + what.backend);
    for (const std::string common :
         {"model.type=bert", "model.layers=2", "model.hidden_size=16", "model.heads=2",
          "model.intermediate_size=32", "model.vocab_size=30", "model.max_positions=12", "model.dropout=0",
          "model.attention_dropout=0", "batch.max_length=12", "optimizer.backend=torch",
          "optimizer.algorithm=sgd", "optimizer.lr=0.5", "optimizer.weight_decay=0",
          "data_loader.backend=torch", "data_loader.shuffle=false", "train.steps=1",
          "train.schedule=constant", "train.warmup_ratio=0"}) {
        all.push_back(common);
    }
    all.push_back(std::string("precision.backend=") +
                  (what.backend == "torch" ? "torch/fp32" : "naive/reference"));
    all.push_back("task.kind=" + what.task);
    if (what.task == "token_classification") all.emplace_back("task.labels=[\"one\", \"two\", \"three\"]");
    all.push_back("batch.layout=" + what.layout);
    all.push_back("batch.size=" + std::to_string(batch));
    all.push_back("train.grad_accumulation_steps=" + std::to_string(4 / batch));
    all.insert(all.end(), what.more.begin(), what.more.end());
    return all;
}

struct UnlabelledJob : test::ShortTraining {
    UnlabelledJob(const Case& what, std::int64_t batch, const SampleSource& samples)
        : ShortTraining(overrides(what, batch), samples) {}

    // Of the first step.
    std::vector<Batch> batches() {
        std::vector<Batch> all(static_cast<std::size_t>(config.train.grad_accumulation_steps));
        for (auto& batch : all) REQUIRE(session.train_loader().next(batch));
        return all;
    }
};

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const char* task : {"masked_lm", "token_classification"}) {
        for (const char* backend : {"naive", "torch"}) {
            for (const char* layout : {"padded", "packed"}) all.push_back({task, backend, layout});
        }
    }
    all.push_back({"masked_lm", "torch", "padded", {"task.project_all=true"}});
    all.push_back({"masked_lm", "torch", "padded", {"loss.label_smoothing=0.1", "loss.z_loss=1e-3"}});
    all.push_back({"masked_lm", "naive", "padded", {"loss.label_smoothing=0.1", "loss.z_loss=1e-3"}});
    return all;
}

at::Tensor gradient_of(const model::ModelParameter& parameter) {
    const auto& gradient = parameter.value.grad();
    return gradient.defined() ? gradient : at::zeros_like(parameter.value);
}

void check_close(const at::Tensor& got, const at::Tensor& expected) {
    CHECK(at::isfinite(got).all().item<bool>());
    const double scale = std::max(1e-3, expected.abs().max().item<double>());
    CHECK(got.sub(expected).abs().max().item<double>() <= 2e-5 * scale);
}

}  // namespace

TEST_CASE("a micro-batch without labels changes neither the loss nor the gradients of a step") {
    const LabelledTexts texts({true, false, true, false});
    for (const auto& what : cases()) {
        INFO(what.task << ", " << what.backend << ", " << what.layout << ", " << what.more.size());
        UnlabelledJob whole(what, 4, texts), parts(what, 1, texts);
        auto one = whole.batches(), four = parts.batches();
        const double expected = whole.trainer.accumulate(one);
        const double got = parts.trainer.accumulate(four);
        CHECK(expected > 0.1);
        CHECK(got == test::Approx(expected).epsilon(1e-5));
        const auto& a = whole.session.parameters().all();
        const auto& b = parts.session.parameters().all();
        for (std::size_t i = 0; i < a.size(); ++i) {
            INFO(a[i].name);
            check_close(gradient_of(b[i]), gradient_of(a[i]));
        }
    }
}

TEST_CASE("a step without any label is a step of loss zero that moves nothing") {
    const LabelledTexts texts({false, false, false, false});
    for (const auto& what : cases()) {
        INFO(what.task << ", " << what.backend << ", " << what.layout << ", " << what.more.size());
        UnlabelledJob job(what, 1, texts);
        std::vector<at::Tensor> before;
        for (const auto& parameter : job.session.parameters().all())
            before.push_back(parameter.value.detach().clone());
        auto batches = job.batches();
        const auto report = job.trainer.step(batches);
        CHECK(report.loss == 0.0);
        CHECK_FALSE(report.skipped);
        CHECK(report.samples == 4);
        for (std::size_t i = 0; i < before.size(); ++i) {
            const auto& parameter = job.session.parameters().all()[i];
            INFO(parameter.name);
            CHECK(parameter.value.equal(before[i]));
        }
    }
}

TEST_CASE("an evaluation over batches without labels is the one over all of them at once") {
    const LabelledTexts texts({false, true, false, true}), none({false, false, false, false});
    for (const auto& what : cases()) {
        INFO(what.task << ", " << what.backend << ", " << what.layout << ", " << what.more.size());
        const auto evaluated = [&](std::int64_t batch, const SampleSource& samples) {
            UnlabelledJob job(what, batch, texts);
            return train::evaluate(job.config, job.session.plan(), job.session.model(),
                                   job.session.start_eval_loader(test::lent(samples)), {});
        };
        const auto expected = evaluated(4, texts), got = evaluated(1, texts), nothing = evaluated(1, none);
        CHECK(got.labels == 5);
        CHECK(got.labels == expected.labels);
        CHECK(got.loss == test::Approx(expected.loss).epsilon(1e-5));
        CHECK(got.accuracy == expected.accuracy);
        CHECK(nothing.complete);
        CHECK(nothing.labels == 0);
        CHECK(std::isnan(nothing.loss));
        CHECK_FALSE(nothing.accuracy);
        CHECK_FALSE(nothing.perplexity);
        for (const char* const metric : {"loss", "accuracy", "perplexity"}) {
            INFO(metric);
            CHECK_FALSE(train::metric_of(nothing, metric));
        }
    }
}
