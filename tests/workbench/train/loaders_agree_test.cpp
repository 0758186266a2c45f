// One epoch of the same samples through every data loader, padded, of one length, bucketed and packed: the
// same loss and the same gradients. To add a loader or a model: a line in `loaders` or `learners`.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ragged_texts.h"
#include "short_training.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

using Sets = std::vector<std::string>;

struct Loader {
    std::string backend, layout;
    Sets more = {};
};

const std::vector<Loader>& loaders() {
    static const std::vector<Loader> all{
        {"naive", "padded"},
        {"torch", "padded"},
        {"batching/padded", "padded", {"batch.pad_multiple=8"}},
        {"batching/fixed", "padded", {"data_loader.options.fixed.length=29"}},
        {"batching/bucketed", "padded", {"batch.tokens=100", "data_loader.options.bucketed.window=16"}},
        {"naive", "packed"},
        {"batching/packed", "packed", {"batch.tokens=64", "batch.size=64"}},
        {"batching/packed", "packed", {"batch.tokens=64", "data_loader.options.packed.workers=0"}}};
    return all;
}

struct Learner {
    std::string type, task;
    Sets more = {};
};

const std::vector<Learner>& learners() {
    static const std::vector<Learner> all{
        {"bert", "classification", {"task.labels=[\"a\",\"b\",\"c\"]"}},
        {"bert", "masked_lm"},
        {"gpt", "causal_lm"},
        {"gpt", "causal_lm", {"model.positions=rotary", "model.norm=rms_norm", "model.kv_heads=1"}},
        {"gpt", "causal_lm", {"model.positions=alibi", "model.window=5"}},
        {"t5", "seq2seq"}};
    return all;
}

Sets overrides(const Learner& model, const Loader& loader, const std::string& attention) {
    Sets all{"model.type=" + model.type,
             "task.kind=" + model.task,
             "model.layers=2",
             "model.hidden_size=16",
             "model.heads=2",
             "model.intermediate_size=32",
             "model.vocab_size=50",
             "model.max_positions=29",
             "model.dropout=0",
             "model.attention_dropout=0",
             "batch.max_length=29",
             "batch.size=4",
             "train.steps=1",
             "precision.backend=torch/fp32",
             "attention.backend=" + attention,
             "linear.backend=torch"};
    for (const std::string slot : {"normalization", "activation", "loss", "optimizer"})
        all.push_back(slot + ".backend=torch");
    all.push_back("batch.layout=" + loader.layout);
    all.push_back("data_loader.backend=" + loader.backend);
    all.insert(all.end(), loader.more.begin(), loader.more.end());
    all.insert(all.end(), model.more.begin(), model.more.end());
    return all;
}

struct Epoch {
    double loss = 0.0;
    std::int64_t samples = 0;
    std::vector<std::pair<std::string, at::Tensor>> gradients;
};

Epoch epoch_of(const Sets& sets) {
    const auto config = test::configured(sets);
    const test::RaggedTexts texts(config.task.kind);
    test::ShortTraining job(sets, texts);
    std::vector<Batch> batches;
    for (Batch batch; job.session.train_loader().next(batch);) batches.push_back(std::move(batch));
    Epoch epoch;
    epoch.loss = job.trainer.accumulate(batches);
    epoch.samples = job.session.train_loader().stats().samples;
    const auto gradients = job.trainer.unscaled_gradients();
    for (std::size_t i = 0; i < gradients.size(); ++i)
        epoch.gradients.emplace_back(job.session.parameters().all()[i].name, gradients[i].clone());
    return epoch;
}

}  // namespace

TEST_CASE("all data loaders give the same loss and gradients for an epoch of the same samples") {
    for (const auto& model : learners()) {
        const auto expected = epoch_of(overrides(model, loaders().front(), "naive"));
        CHECK(expected.samples == 23);
        CHECK(expected.loss > 0.5);
        for (const std::string attention : {"torch", "flash"}) {
            for (const auto& loader : loaders()) {
                const auto got = epoch_of(overrides(model, loader, attention));
                INFO(model.type << ", " << model.task << ", " << model.more.size() << "; " << attention
                                << "; " << loader.backend << ", " << loader.layout);
                CHECK(got.samples == expected.samples);
                CHECK(got.loss == test::Approx(expected.loss).epsilon(1e-5));
                for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
                    const auto& [name, gradient] = expected.gradients[i];
                    INFO(name);
                    REQUIRE(got.gradients[i].second.defined());
                    const double scale = std::max(1e-3, gradient.abs().max().item<double>());
                    CHECK(got.gradients[i].second.sub(gradient).abs().max().item<double>() <= 5e-5 * scale);
                }
            }
        }
    }
}
