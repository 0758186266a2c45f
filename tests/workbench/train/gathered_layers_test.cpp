// Which layers a rank that divides parameters has in memory as it computes each of them, forward and
// backward.
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/kernel/runtime/call_observer.h"
#include "core/workbench/model/parameter_storage.h"
#include "rank_training.h"
#include "some_ranks.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

constexpr int layers = 5;

// Ranks that know how many whole layers are on their way to this one: begun, and not waited for yet.
class CountedGathers final : public distributed::Group {
public:
    explicit CountedGathers(distributed::Group& group) : group_(group) {}
    std::unique_ptr<distributed::Transfer> gather_pieces(const at::Tensor& own, const at::Tensor& all,
                                                         const std::vector<std::int64_t>& sizes) override {
        ++begun, ++arriving;
        return std::make_unique<Awaited>(group_.gather_pieces(own, all, sizes), arriving);
    }
    int begun = 0, arriving = 0;

    distributed::Place place() const override { return group_.place(); }
    distributed::Store& store() override { return group_.store(); }
    std::unique_ptr<Group> among(const std::vector<std::int64_t>& ranks, const std::string& name) override {
        return group_.among(ranks, name);
    }
    void sum(at::Tensor& tensor) override { group_.sum(tensor); }
    void broadcast(at::Tensor& tensor, std::int64_t from) override { group_.broadcast(tensor, from); }
    std::vector<at::Tensor> gather(const at::Tensor& tensor) override { return group_.gather(tensor); }
    std::unique_ptr<distributed::Transfer> sum_pieces(const at::Tensor& all, const at::Tensor& own,
                                                      const std::vector<std::int64_t>& sizes) override {
        return group_.sum_pieces(all, own, sizes);
    }
    void send(const at::Tensor& tensor, std::int64_t to) override { group_.send(tensor, to); }
    void receive(at::Tensor& tensor, std::int64_t from) override { group_.receive(tensor, from); }
    std::unique_ptr<distributed::Transfer> begin_send(const at::Tensor& tensor, std::int64_t to) override {
        return group_.begin_send(tensor, to);
    }
    std::unique_ptr<distributed::GradientSum> sum_gradients(
        const std::vector<distributed::SummedParameter>& parameters,
        const distributed::SumOptions& options) override {
        return group_.sum_gradients(parameters, options);
    }

private:
    class Awaited final : public distributed::Transfer {
    public:
        Awaited(std::unique_ptr<distributed::Transfer> transfer, int& arriving)
            : transfer_(std::move(transfer)), arriving_(&arriving) {}
        void wait() override {
            transfer_->wait();
            if (std::exchange(waits_, false)) --*arriving_;
        }

    private:
        std::unique_ptr<distributed::Transfer> transfer_;
        int* arriving_;
        bool waits_ = true;
    };

    distributed::Group& group_;
};

std::string layer_named(int number) { return "decoder." + std::to_string(number) + "."; }

// What is there after one call of a component.
struct Moment {
    std::string place;
    runtime::Pass pass;
    bool again;
    std::set<int> held, with_gradients;  // layers whose matrices have memory, or a whole gradient
    int arriving;
};

// Of the first rank's thread; the others' calls are seen too.
class Moments final : public runtime::CallObserver {
public:
    void watch(const model::Parameters& parameters, const CountedGathers& gathers) {
        parameters_ = &parameters;
        gathers_ = &gathers;
        thread_ = std::this_thread::get_id();
    }
    void observe(const runtime::ObservedCall& call) override {
        if (thread_ != std::this_thread::get_id()) return;
        Moment moment{std::string(call.place), call.pass, call.again, {}, {}, gathers_->arriving};
        for (const auto& parameter : parameters_->all()) {
            for (int layer = 0; layer < layers; ++layer) {
                if (parameter.value.dim() < 2 || !parameter.name.starts_with(layer_named(layer))) continue;
                if (model::held_bytes(parameter.value) > 0) moment.held.insert(layer);
                if (parameter.value.grad().defined()) moment.with_gradients.insert(layer);
            }
        }
        all.push_back(std::move(moment));
    }
    std::vector<Moment> all;

private:
    std::atomic<std::thread::id> thread_;
    const model::Parameters* parameters_ = nullptr;
    const CountedGathers* gathers_ = nullptr;
};

}  // namespace

TEST_CASE("a layer's parameters are there as long as it computes, while those of the next one arrive") {
    for (const std::string recompute : {"none", "layers"}) {
        INFO("train.recompute=" << recompute);
        const auto texts = texts_for("causal_lm");
        const Case one{"gpt",
                       "causal_lm",
                       2,
                       {"distributed.shard=full", "train.recompute=" + recompute,
                        "model.layers=" + std::to_string(layers)}};
        Moments moments;
        int begun = 0;
        {
            const runtime::ObserveCalls observing(moments);
            as_ranks(2, [&](distributed::Group& group) {
                CountedGathers gathers(group);
                ShortTraining job(sets_of(one, 4, 1), texts, &gathers);
                if (group.rank() == 0) moments.watch(job.session.parameters(), gathers);
                auto batches = job.trainer.next_group();
                job.trainer.accumulate(batches);
                if (group.rank() == 0) begun = gathers.begun;
            });
        }
        for (const auto pass : {runtime::Pass::forward, runtime::Pass::backward}) {
            const bool forward = pass == runtime::Pass::forward;
            for (int layer = 0; layer < layers; ++layer) {
                INFO((forward ? "forward of layer " : "backward of layer ") << layer);
                const bool is_end = layer == (forward ? layers - 1 : 0);
                int calls = 0;
                for (const auto& moment : moments.all) {
                    if (!moment.place.starts_with(layer_named(layer)) || moment.pass != pass) continue;
                    INFO(moment.place);
                    CHECK(moment.held == std::set{layer});
                    if (!forward)
                        CHECK((moment.with_gradients.empty() || moment.with_gradients == std::set{layer}));
                    // What runs again does so in backward, which goes the other way.
                    const bool is_last = moment.again ? layer == 0 : is_end;
                    CHECK(moment.arriving == (is_last ? 0 : 1));
                    ++calls;
                }
                CHECK(calls > 0);
            }
        }
        // The root once, and layers for forward and for backward, but for the last one, which stays between.
        CHECK(begun == 1 + layers + (layers - 1));
        for (const auto& moment : moments.all) {
            CHECK(moment.held.size() <= 1);
            CHECK(moment.arriving <= 1);
        }
    }
}
