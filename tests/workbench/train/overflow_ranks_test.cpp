// A gradient too large for float16 on one rank alone, of ranks that have parts of layers or ranges of them,
// against one process that has it too. To add a mesh: a line in `ways`.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>

#include "rank_training.h"
#include "some_ranks.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

constexpr std::int64_t odd_word = 49;

// Texts of which the first alone has the odd word, if any has.
class OneOddWord final : public SampleSource {
public:
    explicit OneOddWord(bool has_it) : has_it_(has_it) {}
    std::int64_t size() const override { return 16; }
    std::int64_t length(std::int64_t) const override { return 4; }
    Sample get(std::int64_t index, std::int64_t) const override {
        Sample sample;
        sample.ids = {1 + index, has_it_ && index == 0 ? odd_word : 20, 30 + index, 3};
        sample.labels = sample.ids;
        return sample;
    }

private:
    bool has_it_;
};

// One value within the last layer's feed-forward is large where the odd word is, and zero everywhere else. No
// weight reads it, so that it changes no other number: only the gradients of the weights that could are
// large, which are in the last part of the last layer.
void make_one_large(const model::Parameters& parameters) {
    const at::NoGradGuard no_grad;
    const auto value = [&](const std::string& name) { return parameters.find(name)->value.detach(); };
    const auto direction = at::arange(16).remainder(2).mul(2).sub(1);  // that no norm turns
    value("embeddings.word").select(0, odd_word).copy_(direction.mul(0.1));
    const std::string block = "decoder.1.feed_forward.";
    constexpr double large = 6000.0;
    value(block + "in.weight").select(0, -1).copy_(direction.mul(0.25 * large));
    value(block + "in.bias").select(0, -1).fill_(-3.0 * large);
    value(block + "out.weight").select(1, -1).zero_();
}

void take(const ShortTraining& job, const model::Parameters& whole) {
    const at::NoGradGuard no_grad;
    for (const auto& parameter : job.session.parameters().all())
        parameter.value.copy_(parameter.cut.own(whole.find(parameter.name)->value));
}

struct Seen {
    bool finite = true;  // this process's gradients of the first step
    std::vector<bool> skipped;
    std::vector<double> losses;
    double scale = 0.0;  // of the loss, in the end
};

Seen seen_by(const Sets& sets, const model::Parameters& begun, const SampleSource& samples,
             std::int64_t steps, distributed::Group* group = nullptr) {
    ShortTraining job(sets, samples, group);
    take(job, begun);
    Seen seen;
    for (std::int64_t step = 0; step < steps; ++step) {
        auto batches = job.trainer.next_group();
        if (step == 0) {
            job.trainer.accumulate(batches);
            for (const auto& parameter : job.session.parameters().all())
                seen.finite = seen.finite && parameter.value.grad().isfinite().all().item<bool>();
            job.trainer.drop_gradients();
        }
        const auto report = job.trainer.step(batches);
        seen.skipped.push_back(report.skipped);
        seen.losses.push_back(report.loss);
    }
    seen.scale = job.session.plan().precision().loss_scale();
    return seen;
}

}  // namespace

TEST_CASE("an overflow in one rank's part of a model skips the step on all, as in one process") {
    struct Way {
        std::int64_t data, tensor, pipeline;
    };
    const OneOddWord samples(true), others(false);
    for (const auto& way : {Way{1, 2, 1}, Way{1, 1, 2}, Way{2, 2, 1}, Way{2, 1, 2}}) {
        INFO("data " << way.data << ", tensor " << way.tensor << ", pipeline " << way.pipeline);
        const Case one{"gpt",
                       "causal_lm",
                       way.data * way.tensor * way.pipeline,
                       {"precision.backend=amp/fp16", "precision.options.fp16.init_scale=2048.0",
                        "train.epochs=4", "data_loader.shuffle=false"},
                       way.tensor,
                       way.pipeline};
        const auto batch = 4 / way.data, steps = std::int64_t{16};
        const auto sets = sets_of(one, 4, 1);
        const ShortTraining begun(sets, samples);
        make_one_large(begun.session.parameters());
        const auto& whole = begun.session.parameters();
        const auto alone = seen_by(sets, whole, samples, steps);
        CHECK_FALSE(alone.finite);
        CHECK(std::ranges::count(alone.skipped, true) > 0);
        CHECK(std::ranges::count(alone.skipped, false) > 0);
        // So that of ranks with other batches the first has it alone.
        CHECK(seen_by(sets, whole, others, 1).finite);

        std::vector<Seen> all(static_cast<std::size_t>(one.ranks));
        as_ranks(one.ranks, [&](distributed::Group& group) {
            all[static_cast<std::size_t>(group.rank())] =
                seen_by(rank_sets_of(one, batch, 1), whole, samples, steps, &group);
        });
        for (std::int64_t rank = 0; rank < one.ranks; ++rank) {
            INFO("rank " << rank);
            const auto& own = all[static_cast<std::size_t>(rank)];
            const bool has_it =
                rank % way.tensor == way.tensor - 1 && rank / (way.tensor * way.data) == way.pipeline - 1;
            CHECK(own.finite != has_it);
            CHECK(own.skipped == alone.skipped);
            CHECK(own.scale == alone.scale);
            CHECK(distance(own.losses, alone.losses) < 0.01);
        }
    }
}
