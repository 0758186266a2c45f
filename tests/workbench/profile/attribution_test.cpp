// To whom the time of a step belongs. The oracle is arithmetic over steps that are written by hand.
#include "core/workbench/profile/attribution.h"

#include <algorithm>
#include <numeric>

#include "core/workbench/profile/summarize.h"
#include "made_up_step.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using profile::EventKind;
using profile::Line;
using profile::Pass;

namespace {

const Line& line(const std::vector<Line>& lines, const std::string& name) {
    const auto found = std::ranges::find(lines, name, &Line::name);
    INFO(name);
    REQUIRE(found != lines.end());
    return *found;
}

double sum(const std::vector<Line>& lines) {
    return std::accumulate(lines.begin(), lines.end(), 0.0,
                           [](double all, const Line& one) { return all + one.ms; });
}

double between(const profile::Profile& profile) {
    double all = 0.0;
    for (const auto& [pass, ms] : profile.between) all += ms;
    return all;
}

}  // namespace

TEST_CASE("time belongs to the slot of the call, of backward to the slot of what it is the backward of") {
    const auto step = made_up_step();
    const auto profile = profile::summarize({step.recording}, {{41.0, 40.0}}, {36, 400, 300});
    CHECK(profile.step_ms == Approx(41));
    const auto& linear = line(profile.slots, "linear");
    CHECK(linear.ms == Approx(30));
    CHECK(linear.forward_ms == Approx(10));
    CHECK(linear.backward_ms == Approx(20));
    CHECK(linear.calls == 1);
    CHECK(linear.backward_calls == 1);
    CHECK(linear.cost.flops == Approx(3000));
    CHECK(linear.cost.read == Approx(250));
    CHECK(linear.cost.written == Approx(150));
    CHECK(line(profile.uses, "linear.attention.q").ms == Approx(30));
    CHECK(line(profile.layers, "encoder.0").ms == Approx(30));
    CHECK(line(profile.slots, "optimizer").ms == Approx(5));
    CHECK(line(profile.slots, "optimizer").cost.written == 300);
    CHECK(line(profile.slots, "data_loader").ms == Approx(1));
    CHECK(line(profile.operators, "aten::mm").ms == Approx(28));
    CHECK(line(profile.operators, "aten::mm").cost.flops == Approx(3000));
    CHECK(line(profile.operators, "torch/torch linear.forward").ms == Approx(2));
    CHECK(line(profile.operators, "torch/torch linear.forward").cost.flops == 0);
    CHECK(profile.overhead.median == Approx(0.025));
}

TEST_CASE("slots, layers and operators each add up to the step with what is between them") {
    const auto step = made_up_step();
    const auto profile = profile::summarize({step.recording, step.recording}, {}, {});
    CHECK(profile.steps == 2);
    CHECK(between(profile) == Approx(5));
    for (const auto* lines : {&profile.slots, &profile.uses, &profile.layers, &profile.operators})
        CHECK(sum(*lines) + between(profile) == Approx(profile.step_ms));
    CHECK(profile.explained == Approx(36.0 / 41.0));
    CHECK(profile.least_explained == Approx(36.0 / 41.0));
}

TEST_CASE("shares of the roofs are what the roofs would take of the time") {
    Line line;
    line.ms = 2.0;
    line.cost = {1e9, 4e6, 2e6};
    line.flops = {{DType::float32, 6e8}, {DType::bfloat16, 4e8}};
    profile::Roofs roofs;
    roofs.products = {{DType::float32, 1e12}, {DType::bfloat16, 2e12}};
    roofs.read = 20e9;
    roofs.copy = 10e9;
    const auto shares = profile::shares_of(line, roofs);
    CHECK(shares.products == Approx((0.6 + 0.2) / 2.0));
    CHECK(shares.read == Approx(0.2 / 2.0));
    CHECK(shares.copy == Approx(0.6 / 2.0));
    CHECK(profile::shares_of(line, {}).products == 0.0);
}

TEST_CASE("what runs again in backward is told apart from both") {
    MadeUpStep step;
    step.begin(EventKind::step, "step", 0);
    step.begin(EventKind::part, "backward", 0);
    step.begin(EventKind::node, "Switchyard[recompute]", 0);
    step.begin(EventKind::place, "encoder.1.feed_forward", 0);
    const auto again = step.call("activation", "fused/fused", "activation.forward", 0);
    step[again].cost = {8, 4, 4};
    step[again].backward_cost = {12, 8, 4};
    step.end(3), step.end(3);
    const auto node = step.begin(EventKind::node, "Switchyard[activation.backward]", 3);
    step[node].forward = again;
    step.call("activation", "fused/fused", "activation.backward", 3);
    step.end(8), step.end(8), step.end(8), step.end(8), step.end(8);
    const auto profile = profile::summarize({step.recording}, {}, {});
    const auto& activation = line(profile.slots, "activation");
    CHECK(activation.again_ms == Approx(3));
    CHECK(activation.backward_ms == Approx(5));
    CHECK(activation.forward_ms == 0);
    CHECK(activation.cost.flops == Approx(20));
    CHECK(line(profile.layers, "encoder.1").ms == Approx(8));
}

TEST_CASE("an operator that hands on leaves the bytes to what it calls, one that does more has its own") {
    MadeUpStep step;
    step.begin(EventKind::step, "step", 0);
    step.begin(EventKind::part, "forward", 0);
    const auto outer = step.begin(EventKind::op, "aten::contiguous", 0);
    step[outer].cost = {0, 100, 100};
    const auto inner = step.begin(EventKind::op, "aten::copy_", 0);
    step[inner].cost = {0, 100, 100};
    step.end(1), step.end(1);
    const auto whole = step.begin(EventKind::op, "aten::softmax", 1);
    step[whole].cost = {0, 1000, 1000};
    const auto little = step.begin(EventKind::op, "aten::item", 1);
    step[little].cost = {0, 8, 0};
    step.end(2), step.end(2), step.end(3), step.end(3);
    const auto owners = profile::owners_of(step.recording);
    const auto costs = profile::counted_costs(step.recording, owners, false);
    CHECK_FALSE(costs[static_cast<std::size_t>(outer)].any());
    CHECK(costs[static_cast<std::size_t>(inner)].read == 100);
    CHECK(costs[static_cast<std::size_t>(whole)].read == 1000);
    CHECK_FALSE(costs[static_cast<std::size_t>(little)].any());
}

TEST_CASE("places are of layers") {
    CHECK(profile::layer_of("encoder.0.attention.q") == "encoder.0");
    CHECK(profile::layer_of("decoder.11.cross.norm") == "decoder.11");
    CHECK(profile::layer_of("encoder.norm") == "encoder.norm");
    CHECK(profile::layer_of("embeddings.norm") == "embeddings");
    CHECK(profile::layer_of("loss") == "loss");
    CHECK(profile::layer_of("").empty());
}

TEST_CASE("what no component does belongs to embeddings, clipping, batches or the rest") {
    MadeUpStep step;
    const auto in = [&](const char* part, const char* place) {
        step.begin(EventKind::step, "step", 0);
        step.begin(EventKind::part, part, 0);
        if (*place != '\0') step.begin(EventKind::place, place, 0);
        const auto op = step.begin(EventKind::op, "aten::mul", 0);
        for (int i = *place == '\0' ? 3 : 4; i > 0; --i) step.end(1);
        return static_cast<std::size_t>(op);
    };
    const auto embeddings = in("forward", "embeddings"), rest = in("forward", "encoder.0.attention"),
               clipping = in("update", ""), batch = in("data", ""), loss = in("else", "");
    const auto owners = profile::owners_of(step.recording);
    CHECK(owners[embeddings].slot == "embeddings");
    CHECK(owners[rest].slot == "rest");
    CHECK(owners[rest].layer == "encoder.0");
    CHECK(owners[clipping].slot == "precision_clipping");
    CHECK(owners[batch].slot == "data_loader");
    CHECK(owners[loss].slot == "rest");
    CHECK(owners[loss].pass == Pass::none);
}
