// Parts of a state that come to the ranks that save them: nobody goes on before all of them are there.
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

const train::EntryReceiver to_first = [](const std::string&) { return 0; };

}  // namespace

TEST_CASE("a rank whose part of a state has arrived waits until those of all have") {
    constexpr std::int64_t count = 3;
    std::array<std::atomic<bool>, count> went_on{};
    as_ranks(count, [&](distributed::Group& group) {
        LastOneFails ranks(group);
        try {
            train::gather_entries(ranks, {{"weight", "moment", at::ones({4})}}, to_first, "state");
            went_on.at(static_cast<std::size_t>(group.rank())) = true;
        } catch (const std::exception& error) {
            distributed::end_together(group.store(), group.place(), {error.what(), 1, true}, 0.1);
        }
    });
    for (const auto& one : went_on) CHECK_FALSE(one);
}

TEST_CASE("each rank gets the parts that are its to save, in the order of ranks") {
    as_ranks(3, [](distributed::Group& group) {
        const auto own = [&](double more) {
            return at::full({group.rank() + 1}, static_cast<double>(group.rank()) + more, at::kFloat);
        };
        // A parameter is named after the rank that saves it; nobody has a part of what rank 1 would.
        const auto all = train::gather_entries(
            group, {{"2", "moment", own(0.0)}, {"0", "moment", own(10.0)}, {"2", "other", own(20.0)}},
            [](const std::string& parameter) { return std::stoll(parameter); }, "state");
        const std::size_t expected[] = {3, 0, 6};
        if (all.size() != expected[group.rank()]) throw std::runtime_error("another number of parts");
        for (std::size_t i = 0; i < all.size(); ++i) {
            const bool is_0 = group.rank() == 0;
            const auto from = static_cast<std::int64_t>(is_0 ? i : i / 2);
            const bool is_other = !is_0 && i % 2 == 1;
            const double more = is_0 ? 10.0 : is_other ? 20.0 : 0.0;
            const bool right =
                all[i].parameter == std::to_string(group.rank()) &&
                all[i].key == (is_other ? "other" : "moment") &&
                all[i].value.equal(at::full({from + 1}, static_cast<double>(from) + more, at::kFloat));
            if (!right) throw std::runtime_error("another part than rank " + std::to_string(from) + " sent");
        }
    });
}
