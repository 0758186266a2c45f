// What is advised of a profile: what saves most first, each with the line that changes it.
#include "core/workbench/profile/advice.h"

#include <switchyard_test.h>

using namespace switchyard;
using profile::Line;

namespace {

Line spent(const std::string& name, double ms) {
    Line line;
    line.name = name;
    line.ms = ms;
    return line;
}

profile::Profile hundred_milliseconds() {
    profile::Profile profile;
    profile.step_ms = 100.0;
    profile.slots = {spent("linear", 60), spent("attention", 20), spent("optimizer", 10),
                     spent("data_loader", 4), spent("rest", 4)};
    profile.uses = {spent("linear.in", 40), spent("linear.head", 20), spent("attention", 20)};
    profile.between = {{"forward", 2.0}};
    return profile;
}

}  // namespace

TEST_CASE("a faster component saves its share of the uses that it serves") {
    profile::JobFacts facts;
    facts.timed = {{"linear", "linear.in", "torch/torch", {{"torch/torch", 2.0}, {"gemm/gemm", 1.0}}},
                   {"linear", "linear.head", "torch/torch", {{"torch/torch", 1.0}, {"gemm/gemm", 1.5}}},
                   {"attention", "attention", "torch/torch", {{"torch/torch", 4.0}, {"flash/flash", 1.0}}}};
    const auto advice = profile::advise(hundred_milliseconds(), facts);
    REQUIRE(advice.size() == 2);
    CHECK(advice[0].change == "attention.backend = \"flash/flash\"");
    CHECK(advice[0].saves == Approx(0.15));
    CHECK(advice[0].measured);
    CHECK(advice[1].change == "linear.backend = \"gemm/gemm\"");
    CHECK(advice[1].saves == Approx(0.20 - 0.10));
}

TEST_CASE("where a component does not serve all of a slot what is chosen stands behind it") {
    profile::JobFacts facts;
    facts.timed = {{"linear", "linear.in", "torch/torch", {{"torch/torch", 2.0}, {"gemm/gemm", 1.0}}},
                   {"linear", "linear.head", "torch/torch", {{"torch/torch", 1.0}}}};
    const auto advice = profile::advise(hundred_milliseconds(), facts);
    REQUIRE(advice.size() == 1);
    CHECK(advice[0].change == "linear.backend = [\"gemm/gemm\", \"torch/torch\"]");
    CHECK(advice[0].saves == Approx(0.20));
}

TEST_CASE("keys are advised by what was observed, the three best of them") {
    auto profile = hundred_milliseconds();
    profile.padding = 0.5;
    profile.slots[0].again_ms = 25.0;
    profile::JobFacts facts;
    facts.packed_layout = "batch.layout = \"packed\"";
    facts.recompute = "layers";
    facts.workers = "data_loader.backend = \"batching/padded\"";
    facts.batch_size = 8;
    const auto advice = profile::advise(profile, facts);
    REQUIRE(advice.size() == 3);
    CHECK(advice[0].change == "batch.layout = \"packed\"");
    CHECK(advice[0].saves == Approx(0.5 * 0.84));
    CHECK(advice[1].change == "train.recompute = \"none\"");
    CHECK(advice[1].saves == Approx(0.25));
    CHECK(advice[2].change == "batch.size = 16");
    CHECK(advice[2].saves == Approx(0.06));
    CHECK_FALSE(advice[2].measured);
}

TEST_CASE("another precision saves by the times of the plan's components in both") {
    profile::JobFacts facts;
    facts.timed = {{"linear", "linear.in", "torch/torch", {{"torch/torch", 2.0}}},
                   {"attention", "attention", "torch/torch", {{"torch/torch", 4.0}}}};
    facts.narrow_precision = "precision.backend = \"amp/bf16\"";
    facts.narrow = {{"linear", "linear.in", "torch/torch", {{"torch/torch", 1.0}}},
                    {"attention", "attention", "torch/torch", {{"torch/torch", 4.0}}}};
    const auto advice = profile::advise(hundred_milliseconds(), facts);
    REQUIRE(advice.size() == 1);
    CHECK(advice[0].change == facts.narrow_precision);
    CHECK(advice[0].saves == Approx(0.20));
}

TEST_CASE("what noise may explain is no saving") {
    profile::JobFacts facts;
    facts.timed = {{"attention", "attention", "torch/torch", {{"torch/torch", 4.0, 3.0, 5.0}, {"b/b", 2.9, 2.5, 3.1}}},
                   {"linear", "linear.in", "torch/torch", {{"torch/torch", 1.0}, {"c/c", 0.98}}}};
    CHECK(profile::advise(hundred_milliseconds(), facts).empty());
    facts.timed[0].components[1].high = 2.95;
    REQUIRE(profile::advise(hundred_milliseconds(), facts).size() == 1);
    CHECK(profile::advise(hundred_milliseconds(), facts)[0].change == "attention.backend = \"b/b\"");
}

TEST_CASE("nothing is advised that saves less than a hundredth") {
    auto profile = hundred_milliseconds();
    profile.slots.erase(profile.slots.begin() + 2);
    profile.between.clear();
    profile::JobFacts facts;
    facts.batch_size = 8;
    facts.timed = {{"attention", "attention", "torch/torch", {{"torch/torch", 1.0}, {"naive/naive", 9.0}}}};
    CHECK(profile::advise(profile, facts).empty());
    CHECK(profile::advise({}, facts).empty());
}
