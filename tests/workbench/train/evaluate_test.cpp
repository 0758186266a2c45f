// What an evaluation says, against the model's own logits. To add a case: overrides and what must follow of
// them.
#include <ATen/core/grad_mode.h>

#include "core/workbench/train/evaluate.h"

#include "short_training.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

// Ten texts: of class 0, without a label and of class 2 in turn.
class Texts final : public SampleSource {
public:
    explicit Texts(std::int64_t no_label) : no_label_(no_label) {}
    std::int64_t size() const override { return 10; }
    std::int64_t length(std::int64_t) const override { return 5; }
    Sample get(std::int64_t index, std::int64_t) const override {
        Sample sample;
        for (std::int64_t i = 0; i < 5; ++i) sample.ids.push_back((index * 7 + i * 3) % 20);
        sample.labels.push_back(index % 3 == 1 ? no_label_ : index % 3);
        return sample;
    }

private:
    std::int64_t no_label_;
};

struct Hits {
    std::int64_t hits = 0, rows = 0;
};

// Of the texts that have a label.
Hits hits_of(train::Session& session, const SampleSource& samples, std::int64_t no_label) {
    const at::NoGradGuard no_grad;
    model::ForwardContext context;
    context.phase = Phase::eval;
    const auto& loader = session.start_eval_loader(test::lent(samples));
    session.plan().precision().begin_step();
    Hits hits;
    Batch batch;
    while (loader.next(batch)) {
        const auto chosen = session.model().logits(context, batch).argmax(1);
        for (std::int64_t i = 0; i < chosen.size(0); ++i) {
            const auto label = batch.labels[i].item<std::int64_t>();
            if (label == no_label) continue;
            hits.hits += chosen[i].item<std::int64_t>() == label ? 1 : 0;
            ++hits.rows;
        }
    }
    session.plan().precision().end_step();
    return hits;
}

}  // namespace

TEST_CASE("accuracy is of the rows that have a label") {
    const std::int64_t no_label = GENERATE(-100, 1);  // 1: what the middle class would have
    const std::vector<std::string> overrides{"model.type=bert",
                                             "task.kind=classification",
                                             "task.labels=[\"a\",\"b\",\"c\"]",
                                             "model.layers=1",
                                             "model.hidden_size=8",
                                             "model.heads=2",
                                             "model.vocab_size=20",
                                             "model.max_positions=8",
                                             "batch.max_length=8",
                                             "batch.size=4",
                                             "train.steps=1",
                                             "attention.backend=torch",
                                             "normalization.backend=torch",
                                             "activation.backend=torch",
                                             "loss.backend=torch",
                                             "optimizer.backend=torch",
                                             "data_loader.backend=torch",
                                             "precision.backend=torch/fp32"};
    const Texts texts(no_label);
    test::ShortTraining job(overrides, texts);
    auto config = job.session.config();
    config.loss.ignore_index = no_label;  // no job has another than -100
    for (const std::int64_t favourite : {0, 1, 2}) {
        for (const auto& parameter : job.session.parameters().all()) {
            if (parameter.value.dim() != 1 || parameter.value.size(0) != 3) continue;
            const at::NoGradGuard no_grad;
            parameter.value.zero_()[favourite].fill_(100.0);  // the classifier's bias
        }
        const auto expected = hits_of(job.session, texts, no_label);
        const auto found = train::evaluate(config, job.session.plan(), job.session.model(),
                                           job.session.start_eval_loader(test::lent(texts)), {});
        INFO("no label is " << no_label << ", a model that says " << favourite);
        CHECK(expected.rows == 7);
        CHECK(found.labels == expected.rows);
        REQUIRE(found.accuracy);
        CHECK(*found.accuracy == static_cast<double>(expected.hits) / static_cast<double>(expected.rows));
        REQUIRE(found.confusion);
        CHECK((found.confusion->labels() == std::vector<std::string>{"a", "b", "c"}));
        CHECK(found.confusion->total() == expected.rows);
        CHECK(found.confusion->accuracy() == *found.accuracy);
        CHECK(found.confusion->of_class(1).right == 0);
        CHECK(found.confusion->of_class(static_cast<std::size_t>(favourite)).told == expected.rows);
        CHECK((found.metrics == found.confusion->metrics()));
    }
}
