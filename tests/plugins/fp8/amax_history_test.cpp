// Delayed scaling against a simulation in numpy, bit by bit. To add a sequence: simulate() in
// tests/fixtures/make_float8.py.
#include "amax_history.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using fp8::AmaxHistory;
using fp8::Role;

namespace {

const Role roles[] = {Role::x, Role::weight, Role::gradient};

AmaxHistory::Settings settings_of(const nlohmann::json& numbers) {
    return {numbers.at("length"), numbers.at("margin"), numbers.at("interval"), numbers.at("most_recent")};
}

at::Tensor number(float value) { return at::scalar_tensor(value, at::kFloat); }

void step(AmaxHistory& history, const at::Tensor& amax_3, const std::string& site = "layer") {
    history.begin_step();
    for (const Role role : roles) history.record(site, role, amax_3[static_cast<std::int64_t>(role)].clone());
    history.end_step();
}

at::Tensor entry(const AmaxHistory& history, const std::string& key) {
    for (const auto& one : history.state().entries) {
        if (one.key == key) return one.value;
    }
    return {};
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
    return a.sizes() == b.sizes() && a.contiguous().view(at::kInt).equal(b.contiguous().view(at::kInt));
}

std::vector<test::FixtureCase> sequences() {
    std::vector<test::FixtureCase> found;
    for (auto& one : test::load_fixture("float8")) {
        if (one.name.starts_with("history/")) found.push_back(std::move(one));
    }
    return found;
}

}  // namespace

TEST_CASE("histories and scales have the bits of a simulation in numpy, step by step") {
    for (const auto& sequence : sequences()) {
        AmaxHistory history(settings_of(sequence.numbers));
        const auto amax = sequence["amax"], histories = sequence["history"];
        const auto steps = amax.size(0);
        for (std::int64_t i = 0; i < steps; ++i) {
            INFO(sequence.name << ", step " << i);
            step(history, amax[i]);
            CHECK(same_bits(entry(history, "scale.layer"), sequence["scale"][i]));
            // Of long histories the fixture has the last.
            const auto kept = i - (steps - histories.size(0));
            if (kept >= 0) CHECK(same_bits(entry(history, "amax_history.layer"), histories[kept]));
        }
    }
    CHECK(sequences().size() == 7);
}

TEST_CASE("a history that was saved and loaded goes on with the same bits") {
    for (const auto& sequence : sequences()) {
        INFO(sequence.name);
        AmaxHistory whole(settings_of(sequence.numbers)), second(settings_of(sequence.numbers));
        const auto amax = sequence["amax"];
        for (std::int64_t i = 0; i < amax.size(0); ++i) {
            if (i == 3) second.load(whole.state());
            step(whole, amax[i]);
            if (i >= 3) step(second, amax[i]);
        }
        const auto state = whole.state();
        CHECK(state.entries.size() == 3);
        for (const auto& one : state.entries) CHECK(entry(second, one.key).equal(one.value));
    }
}

TEST_CASE("the largest of a step's calls counts, and a step that is given up counts for nothing") {
    AmaxHistory history({2, 0, 1, false});
    CHECK_FALSE(history.scale("layer", Role::x, at::kCPU).defined());
    history.begin_step();
    for (const float amax : {2.0F, 7.0F, 3.0F}) history.record("layer", Role::x, number(amax));
    history.end_step();
    CHECK(history.scale("layer", Role::x, at::kCPU).item<float>() == 64.0F);
    CHECK(history.scale("layer", Role::gradient, at::kCPU).item<float>() == 1.0F);
    history.begin_step();
    history.record("layer", Role::x, number(1000.0F));
    history.begin_step();
    history.end_step();
    CHECK(history.scale("layer", Role::x, at::kCPU).item<float>() == 64.0F);
    CHECK(entry(history, "steps").item<std::int64_t>() == 1);
}

TEST_CASE("sites that were not called keep what they had; one that comes later begins with its own step") {
    AmaxHistory history({3, 0, 4, false});
    step(history, at::full({3}, 7.0F), "first");
    step(history, at::full({3}, 28.0F), "second");
    CHECK(entry(history, "amax_history.first").select(1, 0).equal(at::tensor({7.0F, 0.0F, 0.0F})));
    CHECK(entry(history, "scale.second")[0].item<float>() == 16.0F);
}

TEST_CASE("a state of another policy begins anew; one that does not fit is refused and changes nothing") {
    AmaxHistory history({2, 0, 1, false});
    step(history, at::full({3}, 7.0F));
    const auto fine = history.state();
    auto bad = fine;
    bad.entries[1].value = at::zeros({5, 3});
    CHECK_THROWS_WITH(history.load(bad),
                      "precision state: 'amax_history.layer' has 5 steps, this policy keeps 2: set "
                      "precision.options.fp8.amax_history_length = 5");
    bad.entries[1].value = at::zeros({2, 3}, at::kDouble);
    CHECK_THROWS_WITH(history.load(bad), "precision state: 'amax_history.layer' is not Float [2, 3]");
    bad = fine;
    bad.entries.pop_back();
    CHECK_THROWS_WITH(history.load(bad),
                      "precision state: there is no scale.layer, which belongs to the other of the two");
    CHECK(entry(history, "scale.layer").defined());
    history.load({{{"loss_scale", number(2.0F)}}});
    CHECK(history.state().entries.size() == 1);
    CHECK_FALSE(history.scale("layer", Role::x, at::kCPU).defined());
}
