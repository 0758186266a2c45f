// What is kept of the parameters must not outlive a step that changes them: evaluation in between must not
// change what comes after. To add a case: a component that may keep something, in `optimizers` or `others`.
#include <set>
#include <string>
#include <vector>

#include "short_training.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

// Pairs of texts, each eleven tokens answered with nine: longer than the buckets of one distance each.
class Pairs final : public SampleSource {
public:
    std::int64_t size() const override { return 12; }
    std::int64_t length(std::int64_t) const override { return 20; }
    Sample get(std::int64_t index, std::int64_t) const override {
        Sample sample;
        for (std::int64_t i = 0; i < 11; ++i) sample.ids.push_back(1 + (index * 7 + i * 3) % 19);
        for (std::int64_t i = 0; i < 9; ++i) sample.target_ids.push_back(1 + (index * 5 + i * 2) % 19);
        sample.labels = sample.target_ids;
        return sample;
    }
};

struct Translation {
    explicit Translation(const std::vector<std::string>& more) : made(overrides(more), samples) {}

    static std::vector<std::string> overrides(const std::vector<std::string>& more) {
        std::vector<std::string> all{"model.type=t5",
                                     "task.kind=seq2seq",
                                     "model.layers=2",
                                     "model.hidden_size=16",
                                     "model.heads=2",
                                     "model.intermediate_size=32",
                                     "model.vocab_size=20",
                                     "model.max_positions=16",
                                     "model.dropout=0",
                                     "model.attention_dropout=0",
                                     "batch.max_length=16",
                                     "batch.size=4",
                                     "train.steps=4",
                                     "optimizer.lr=0.02",
                                     "data_loader.shuffle=false",
                                     "optimizer.allow_reduced=true",
                                     "precision.allow_reduced=true",
                                     "runtime.auto=priority"};
        for (const std::string slot :
             {"attention", "normalization", "activation", "loss", "optimizer", "data_loader"})
            all.push_back(slot + ".backend=torch");
        all.push_back("precision.backend=torch/fp32");
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }

    // Four steps; the loss on all samples after the last one.
    double trained(bool evaluates_between) {
        const auto& loader = made.session.start_eval_loader(test::lent(samples));
        const auto loss = [&] {
            return train::evaluate(made.session.config(), made.session.plan(), made.session.model(), loader,
                                   {})
                .loss;
        };
        std::vector<Batch> batch(1);
        for (int step = 0; step < 4; ++step) {
            if (evaluates_between) loss();
            while (!made.session.train_loader().next(batch[0])) continue;  // the end of an epoch
            made.trainer.step(batch);
        }
        return loss();
    }

    Pairs samples;
    test::ShortTraining made;
};

// "slot.backend=plugin/component" for each that serves the job in training, with the variants that have
// kernels of their own.
std::vector<std::string> backends(Kind kind) {
    const Translation job({});
    std::set<std::string> found;
    for (const auto& row : job.made.plan.rows) {
        if (row.use.kind != kind || row.use.phase != Phase::train) continue;
        for (const auto& candidate : row.candidates) {
            if (!candidate.ok) continue;
            const auto backend =
                std::string(name(kind)) + ".backend=" + candidate.plugin + "/" + candidate.component;
            found.insert(backend);
            if (candidate.plugin == "torch" && kind == Kind::optimizer) found.insert(backend + "@foreach");
        }
    }
    return {found.begin(), found.end()};
}

const std::vector<std::vector<std::string>> others{
    {"normalization.backend=fused", "activation.backend=fused", "loss.backend=fused"},
    {"precision.backend=torch/bf16"},
    {"precision.backend=amp/bf16"},
    {"precision.backend=amp/bf16_pure"},
    {"precision.backend=fp8", "precision.options.fp8.cpu_reference=true"},
};

void check(const std::vector<std::string>& sets) {
    INFO(sets[0]);
    Translation once(sets), often(sets);
    const double expected = once.trained(false);
    CHECK(often.trained(true) == expected);
    INFO("training changed nothing, so that nothing could be stale");
    Translation untrained([&] {
        auto still = sets;
        still.push_back("optimizer.lr=0");
        return still;
    }());
    CHECK(untrained.trained(false) != expected);
}

}  // namespace

TEST_CASE("a loss is the same whether or not there were evaluations before it, with every optimizer") {
    const auto optimizers = backends(Kind::optimizer);
    REQUIRE(optimizers.size() >= 5);
    for (const auto& optimizer : optimizers) check({optimizer});
}

TEST_CASE("a loss is the same whether or not there were evaluations before it, with every other component") {
    const std::string raw = "optimizer.backend=fused";  // its kernels write to memory that nobody watches
    for (const auto& attention : backends(Kind::attention)) check({attention, raw});
    for (auto sets : others) {
        sets.push_back(raw);
        check(sets);
    }
}

TEST_CASE("every optimizer's step raises the version of every parameter that it changed, and of its master") {
    for (const auto& optimizer : backends(Kind::optimizer)) {
        for (const std::string precision : {"torch/fp32", "amp/bf16_pure"}) {
            INFO(optimizer << " with " << precision);
            Translation job({optimizer, "precision.backend=" + precision});
            std::vector<std::uint32_t> before;
            for (const auto& parameter : job.made.session.parameters().all())
                before.push_back(parameter.value._version());
            std::vector<Batch> batch(1);
            REQUIRE(job.made.session.train_loader().next(batch[0]));
            job.made.trainer.step(batch);
            std::size_t i = 0;
            for (const auto& parameter : job.made.session.parameters().all()) {
                INFO(parameter.name);
                CHECK(parameter.value._version() > before[i++]);
            }
        }
    }
}
