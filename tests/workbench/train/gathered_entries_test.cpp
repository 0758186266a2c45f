// Parts of a state that come to the first rank: nobody goes on before all of them are there.
#include <array>
#include <atomic>
#include <stdexcept>

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include "core/workbench/train/gathered_entries.h"
#include "some_ranks.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

// Ranks of which the last one's tensors do not arrive.
class LastOneFails final : public distributed::Group {
public:
    explicit LastOneFails(distributed::Group& group) : group_(group) {}
    distributed::Place place() const override { return group_.place(); }
    distributed::Store& store() override { return group_.store(); }
    std::vector<at::Tensor> gather(const at::Tensor& tensor) override { return group_.gather(tensor); }
    void send(const at::Tensor& tensor, std::int64_t to) override {
        if (rank() + 1 == world_size()) fail();
        group_.send(tensor, to);
    }
    void receive(at::Tensor& tensor, std::int64_t from) override {
        if (from + 1 == world_size()) fail();
        group_.receive(tensor, from);
    }

    std::unique_ptr<Group> among(const std::vector<std::int64_t>&, const std::string&) override { fail(); }
    void sum(at::Tensor&) override { fail(); }
    void broadcast(at::Tensor&, std::int64_t) override { fail(); }
    std::unique_ptr<distributed::Transfer> gather_pieces(const at::Tensor&, const at::Tensor&,
                                                         const std::vector<std::int64_t>&) override {
        fail();
    }
    std::unique_ptr<distributed::Transfer> sum_pieces(const at::Tensor&, const at::Tensor&,
                                                      const std::vector<std::int64_t>&) override {
        fail();
    }
    std::unique_ptr<distributed::Transfer> begin_send(const at::Tensor&, std::int64_t) override { fail(); }
    std::unique_ptr<distributed::GradientSum> sum_gradients(const std::vector<distributed::SummedParameter>&,
                                                            const distributed::SumOptions&) override {
        fail();
    }

private:
    [[noreturn]] static void fail() { throw std::runtime_error("no tensor arrives"); }

    distributed::Group& group_;
};

}  // namespace

TEST_CASE("a rank whose part of a state has arrived waits until those of all have") {
    constexpr std::int64_t count = 3;
    std::array<std::atomic<bool>, count> went_on{};
    as_ranks(count, [&](distributed::Group& group) {
        LastOneFails ranks(group);
        try {
            train::gather_entries(ranks, {{"weight", "moment", at::ones({4})}}, "state");
            went_on.at(static_cast<std::size_t>(group.rank())) = true;
        } catch (const std::exception& error) {
            distributed::end_together(group.store(), group.place(), {error.what(), 1, true}, 0.1);
        }
    });
    for (const auto& one : went_on) CHECK_FALSE(one);
}

TEST_CASE("the first rank gets the parts of all in the order of ranks") {
    as_ranks(3, [](distributed::Group& group) {
        const auto own = at::full({group.rank() + 1}, static_cast<double>(group.rank()), at::kFloat);
        const auto all = train::gather_entries(group, {{"weight", "moment", own}}, "state");
        if (group.rank() != 0) {
            if (!all.empty()) throw std::runtime_error("another rank got parts");
            return;
        }
        REQUIRE(all.size() == 3);
        for (std::int64_t rank = 0; rank < 3; ++rank) {
            const auto& entry = all[static_cast<std::size_t>(rank)];
            CHECK(entry.parameter == "weight");
            CHECK(entry.key == "moment");
            CHECK(entry.value.equal(at::full({rank + 1}, static_cast<double>(rank), at::kFloat)));
        }
    });
}
