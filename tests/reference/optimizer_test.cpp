// The reference's optimizer steps against torch.optim and the published formulas (tests/fixtures), over 100
// steps.
// To add an algorithm: add it to optimizer() in tests/fixtures/make_fixtures.py.
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <switchyard/reference/optimizer.h>

#include "check.h"
#include "optimizer_fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::algorithm_of;
using test::difference;
using test::groups_of;
using test::set_gradients;

namespace {

test::FixtureCase fixture(const std::string& name) {
    for (auto& c : test::load_fixture("optimizer")) {
        if (c.name == name) return c;
    }
    throw std::runtime_error("no fixture " + name);
}

}  // namespace

TEST_CASE("100 steps agree with PyTorch") {
    for (const auto& c : test::load_fixture("optimizer")) {
        for (const auto& [type, allowed] : {std::pair{at::kDouble, 1e-12}, std::pair{at::kFloat, 2e-4}}) {
            // A sign that turns on the last bit of a float32 is no error of Lion's.
            if (type == at::kFloat && algorithm_of(c) == OptimizerKind::lion) continue;
            INFO(c.name << " " << type);
            reference::OptimizerSteps steps(algorithm_of(c));
            const auto look = [&, most = allowed](std::int64_t t, const auto& groups,
                                                  const StepResult& result) {
                if (t == 1 && c["grad_norm"].defined())
                    CHECK(difference(result.grad_norm, c["grad_norm"]) < 1e-6);
                for (std::size_t i = 0; i < 2; ++i) {
                    INFO("step " << t << " parameter " << i);
                    CHECK(difference(groups[i].parameters[0].value, test::value_after(c, i, t)) < most);
                }
            };
            test::run_steps(steps, c, type, look);
        }
    }
}

TEST_CASE("unscaling folds the division by the loss scale into the step") {
    const auto c = fixture("adamw/clip");
    reference::OptimizerSteps steps(OptimizerKind::adamw);
    auto groups = groups_of(c, at::kDouble);
    steps.bind(groups);
    set_gradients(groups, c, 0, 1024.0);
    StepParams params;
    params.max_grad_norm = 0.5;
    params.grad_scale = 1024.0;
    const StepResult result = steps.step(groups, params);
    CHECK(difference(result.grad_norm, c["grad_norm"]) < 1e-6);
    CHECK(result.found_inf.item<float>() == 0.0F);
    CHECK(difference(groups[0].parameters[0].value, c["value0_1"]) < 1e-13);

    reference::OptimizerSteps again(OptimizerKind::adamw);
    auto same = groups_of(c, at::kDouble);
    again.bind(same);
    set_gradients(same, c, 0, 1024.0);
    params.grad_scale = 1.0;
    params.grad_scale_tensor = at::tensor(1024.0F);
    params.lr_factor_tensor = at::tensor(0.0F);
    again.step(same, params);
    CHECK(same[0].parameters[0].value.equal(c["start0"]));
}

TEST_CASE("one gradient that is not finite leaves everything as it was") {
    const auto c = fixture("adamw");
    for (const double poison :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        reference::OptimizerSteps steps(OptimizerKind::adamw);
        auto groups = groups_of(c, at::kDouble);
        steps.bind(groups);
        set_gradients(groups, c, 0);
        steps.step(groups, {});
        const at::Tensor value = groups[0].parameters[0].value.clone();
        std::vector<at::Tensor> states;
        for (const auto& entry : steps.state().entries) states.push_back(entry.value.clone());
        set_gradients(groups, c, 1);
        groups[1].parameters[0].gradient[0][0].fill_(poison);
        CHECK(steps.step(groups, {}).found_inf.item<float>() == 1.0F);
        CHECK(steps.state().step == 1);
        CHECK(groups[0].parameters[0].value.equal(value));
        for (std::size_t i = 0; i < states.size(); ++i)
            CHECK(steps.state().entries[i].value.equal(states[i]));
    }
}

TEST_CASE("a master weight is what is updated, and its value its rounding") {
    const auto c = fixture("adamw");
    reference::OptimizerSteps steps(OptimizerKind::adamw);
    auto groups = groups_of(c, at::kBFloat16);
    for (int i = 0; i < 2; ++i)
        groups[i].parameters[0].master = c["start" + std::to_string(i)].to(at::kFloat);
    steps.bind(groups);
    for (std::int64_t t = 0; t < 10; ++t) {
        set_gradients(groups, c, t);
        steps.step(groups, {});
    }
    const Parameter& first = groups[0].parameters[0];
    CHECK(first.value.equal(first.master.to(at::kBFloat16)));
    CHECK(difference(first.master, c["value0_10"]) < 5e-3);
    CHECK(steps.state().entries[0].value.scalar_type() == at::kFloat);
}

TEST_CASE("a parameter without a gradient is skipped") {
    const auto c = fixture("adamw");
    reference::OptimizerSteps steps(OptimizerKind::adamw);
    auto groups = groups_of(c, at::kDouble);
    steps.bind(groups);
    set_gradients(groups, c, 0);
    groups[0].parameters[0].gradient = at::Tensor();
    steps.step(groups, {});
    CHECK(groups[0].parameters[0].value.equal(c["start0"]));
    CHECK(difference(groups[1].parameters[0].value, c["value1_1"]) < 1e-13);
}

TEST_CASE("saved state goes on bit for bit") {
    for (const std::string name : {"adamw", "adam", "sgd", "sgd+momentum", "lion", "lamb", "muon"}) {
        INFO(name);
        const auto c = fixture(name);
        reference::OptimizerSteps steps(algorithm_of(c));
        auto groups = groups_of(c, at::kFloat);
        steps.bind(groups);
        for (std::int64_t t = 0; t < 3; ++t) {
            set_gradients(groups, c, t);
            steps.step(groups, {});
        }
        OptimizerState saved = steps.state();
        for (auto& entry : saved.entries) entry.value = entry.value.clone();
        reference::OptimizerSteps resumed(algorithm_of(c));
        auto copies = groups;
        for (auto& group : copies) group.parameters[0].value = group.parameters[0].value.clone();
        resumed.bind(copies);
        resumed.load(saved);
        for (std::int64_t t = 3; t < 6; ++t) {
            set_gradients(groups, c, t);
            set_gradients(copies, c, t);
            steps.step(groups, {});
            resumed.step(copies, {});
        }
        CHECK(resumed.state().step == 6);
        for (int i = 0; i < 2; ++i) CHECK(copies[i].parameters[0].value.equal(groups[i].parameters[0].value));
    }
}

TEST_CASE("a state that does not fit is named and changes nothing") {
    const auto c = fixture("adamw");
    auto groups = groups_of(c, at::kDouble);
    reference::OptimizerSteps steps(OptimizerKind::adamw), lion(OptimizerKind::lion);
    steps.bind(groups);
    lion.bind(groups);
    CHECK_THROWS_WITH(steps.load(lion.state()),
                      "optimizer: the state is of 'lion', this optimizer is 'adamw'");
    OptimizerState state = steps.state();
    state.step = 9;
    OptimizerState missing = state;
    missing.entries.pop_back();
    CHECK_THROWS_WITH(steps.load(missing), "optimizer: state entry 'exp_avg_sq' of 'w1' is missing");
    OptimizerState shape = state;
    shape.entries[0].value = at::empty({2, 2});
    CHECK_THROWS_WITH(steps.load(shape),
                      "optimizer: state entry 'exp_avg' of 'w0' has shape [2, 2], expected [4, 3]");
    OptimizerState extra = state;
    extra.entries[0].parameter = "w9";
    CHECK_THROWS_WITH(steps.load(extra),
                      "optimizer: state entry 'exp_avg' of 'w9' belongs to no parameter here");
    CHECK(steps.state().step == 0);
}

TEST_CASE("groups that cannot be bound are named") {
    reference::OptimizerSteps steps(OptimizerKind::adamw);
    CHECK_THROWS_WITH(steps.bind({{"decay", {}, {}}}), "optimizer: group 'decay' has no parameters");
    const Parameter w{"w", test::normal({2}, 1), {}, {}};
    CHECK_THROWS_WITH(steps.bind({{"all", {}, {w, w}}}), "optimizer: two parameters are called 'w'");
    CHECK_THROWS_WITH(steps.bind({{"all", {}, {{"ids", at::empty({2}, at::kLong), {}, {}}}}}),
                      "optimizer: parameter 'ids' is not of a floating dtype");
    CHECK_THROWS_WITH(steps.bind({{"all", {}, {{"s", test::normal({2, 2}, 1).to_sparse(), {}, {}}}}}),
                      "optimizer: parameter 's' is sparse");
    std::vector<ParameterGroup> groups{{"all", {}, {w}}};
    steps.bind(groups);
    groups[0].parameters[0].gradient = test::normal({2}, 1).to_sparse();
    CHECK_THROWS_WITH(steps.step(groups, {}), "optimizer: the gradient of 'w' is sparse");
}

TEST_CASE("muon steps other tensors than matrices as adamw") {
    auto groups = [] {
        HyperParameters hyper;
        hyper.weight_decay = 0.1;
        return std::vector<ParameterGroup>{
            {"all", hyper, {{"b", test::normal({5}, 1), test::normal({5}, 2), {}}}}};
    };
    auto first = groups(), second = groups();
    reference::OptimizerSteps muon(OptimizerKind::muon), adamw(OptimizerKind::adamw);
    muon.bind(first);
    adamw.bind(second);
    muon.step(first, {});
    adamw.step(second, {});
    CHECK(first[0].parameters[0].value.equal(second[0].parameters[0].value));
}
