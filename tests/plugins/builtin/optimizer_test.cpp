// What conformance does not see of torch's optimizer: which kernels ran, messages, and what a bad state
// leaves behind. To add a case: parameters from `groups`, a call, and what must hold afterwards.
#include "builtin.h"

#include <limits>
#include <map>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/optimizer.h>

#include <switchyard_test.h>

using namespace switchyard;
using Calls = std::map<std::string, std::uint64_t>;
using switchyard::test::contains;

namespace {

std::vector<ParameterGroup> groups() {
    ParameterGroup group;
    group.name = "all";
    for (const std::string name : {"first", "second"}) {
        Parameter parameter;
        parameter.name = name;
        parameter.value = at::randn({4, 3});
        parameter.gradient = at::randn({4, 3});
        group.parameters.push_back(parameter);
    }
    return {group};
}

OptimizerRequest request_for(OptimizerKind algorithm) {
    OptimizerRequest request;
    request.algorithm = algorithm;
    return request;
}

}  // namespace

TEST_CASE("fused kernels are taken where LibTorch has them, foreach where it is asked for or alone there") {
    const std::map<OptimizerKind, std::string> taken = {{OptimizerKind::adamw, "fused"},
                                                        {OptimizerKind::adam, "fused"},
                                                        {OptimizerKind::sgd, "fused"},
                                                        {OptimizerKind::lion, "foreach"}};
    for (const auto& [algorithm, expected] : taken) {
        for (const std::string variant : {"", "foreach"}) {
            const auto request = request_for(algorithm);
            const auto optimizer = test::make<Optimizer>("torch", "torch", request, variant);
            auto parameters = groups();
            optimizer->bind(parameters);
            optimizer->step(parameters, {});
            CHECK(optimizer.counter->calls() == Calls{{variant.empty() ? expected : variant, 1}});
        }
    }
}

TEST_CASE("a non-finite gradient changes nothing when clipping or unscaling is asked for") {
    for (const bool clip : {true, false}) {
        const auto request = request_for(OptimizerKind::adamw);
        const auto optimizer = test::make<Optimizer>("torch", "torch", request);
        auto parameters = groups();
        optimizer->bind(parameters);
        parameters[0].parameters[1].gradient[0][0].fill_(std::numeric_limits<float>::infinity());
        const auto before = parameters[0].parameters[0].value.clone();
        StepParams params;
        if (clip) params.max_grad_norm = 1.0;
        if (!clip) params.grad_scale = 2.0;
        const auto result = optimizer->step(parameters, params);
        CHECK(result.found_inf.defined() == !clip);
        if (!clip) CHECK(result.found_inf.item<float>() == 1.0F);
        CHECK(at::equal(parameters[0].parameters[0].value, before));
        CHECK(optimizer->state().step == 0);
        CHECK(optimizer.counter->total() == 0);
    }
}

TEST_CASE("clipping survives gradients whose squares overflow") {
    const auto request = request_for(OptimizerKind::sgd);
    const auto optimizer = test::make<Optimizer>("torch", "torch", request);
    auto parameters = groups();
    parameters[0].parameters[0].gradient.fill_(1e30);
    optimizer->bind(parameters);
    StepParams params;
    params.max_grad_norm = 1.0;
    optimizer->step(parameters, params);
    CHECK(optimizer->state().step == 1);
    CHECK(parameters[0].parameters[0].value.isfinite().all().item<bool>());
}

TEST_CASE("a gradient that lies otherwise in memory, or is of another dtype, is taken as its values are") {
    const auto request = request_for(OptimizerKind::adamw);
    auto plain = groups();
    auto odd = plain;
    for (auto& parameter : odd[0].parameters) parameter.value = parameter.value.clone();
    for (auto& parameter : plain[0].parameters)
        parameter.gradient = parameter.gradient.to(at::kBFloat16).to(at::kFloat);
    odd[0].parameters[0].gradient = odd[0].parameters[0].gradient.t().contiguous().t();
    odd[0].parameters[1].gradient = odd[0].parameters[1].gradient.to(at::kBFloat16);
    odd[0].parameters[0].gradient = odd[0].parameters[0].gradient.to(at::kBFloat16);
    for (auto* parameters : {&plain, &odd}) {
        const auto optimizer = test::make<Optimizer>("torch", "torch", request);
        optimizer->bind(*parameters);
        optimizer->step(*parameters, {});
    }
    for (int i = 0; i < 2; ++i) CHECK(at::equal(plain[0].parameters[i].value, odd[0].parameters[i].value));
}

TEST_CASE("bind names what it can't serve") {
    const auto request = request_for(OptimizerKind::adamw);
    const auto optimizer = test::make<Optimizer>("torch", "torch", request);
    auto parameters = groups();
    parameters[0].parameters[1].name = "first";
    CHECK_THROWS_WITH(optimizer->bind(parameters), contains("two parameters are called 'first'"));
    parameters = groups();
    parameters[0].parameters[1].value = at::ones({2}, at::kLong);
    CHECK_THROWS_WITH(optimizer->bind(parameters),
                      contains("parameter 'second' is of dtype Long, expected a floating one"));
    parameters = groups();
    parameters[0].parameters.clear();
    CHECK_THROWS_WITH(optimizer->bind(parameters), contains("group 'all' has no parameters"));
    CHECK_THROWS_WITH(optimizer->bind({}), contains("there are no parameter groups"));
    parameters = groups();
    parameters[0].parameters[0].value = at::ones({4, 6}).slice(1, 0, 6, 2);
    CHECK_THROWS_WITH(optimizer->bind(parameters), contains("parameter 'first' is not dense in memory"));
    parameters = groups();
    parameters[0].parameters[0].value = at::ones({4, 3}).to_sparse();
    CHECK_THROWS_WITH(optimizer->bind(parameters), contains("parameter 'first' is sparse"));
}

TEST_CASE("a step names a gradient that does not fit") {
    const auto request = request_for(OptimizerKind::adamw);
    const auto optimizer = test::make<Optimizer>("torch", "torch", request);
    auto parameters = groups();
    optimizer->bind(parameters);
    parameters[0].parameters[1].gradient = at::ones({3, 4});
    CHECK_THROWS_WITH(optimizer->step(parameters, {}),
                      contains("the gradient of 'second' has shape [3, 4], its parameter [4, 3]"));
    parameters[0].parameters[1].gradient = at::ones({4, 3}).to_sparse();
    CHECK_THROWS_WITH(optimizer->step(parameters, {}), contains("the gradient of 'second' is sparse"));
}

TEST_CASE("a state that does not fit says why and changes nothing") {
    const auto request = request_for(OptimizerKind::adamw);
    const auto optimizer = test::make<Optimizer>("torch", "torch", request);
    auto parameters = groups();
    optimizer->bind(parameters);
    optimizer->step(parameters, {});
    const auto own = optimizer->state();
    REQUIRE(own.entries.size() == 4);
    std::vector<at::Tensor> before;
    for (const auto& entry : own.entries) before.push_back(entry.value.clone());
    const auto refused = [&](OptimizerState state, const std::string& text) {
        CHECK_THROWS_WITH(optimizer->load(state), contains(text));
        for (std::size_t i = 0; i < before.size(); ++i)
            CHECK(at::equal(optimizer->state().entries[i].value, before[i]));
        CHECK(optimizer->state().step == 1);
    };
    auto state = own;
    state.step = 7;
    for (auto& entry : state.entries) entry.value = at::full({4, 3}, 9.0);
    auto changed = state;
    changed.algorithm = "lion";
    refused(changed, "the state is of 'lion', this optimizer is 'adamw'");
    changed = state;
    changed.entries.pop_back();
    refused(changed, "state entry 'exp_avg_sq' of 'second' is missing");
    changed = state;
    changed.entries.back().value = at::zeros({3});
    refused(changed, "state entry 'exp_avg_sq' of 'second' has shape [3], expected [4, 3]");
    changed = state;
    changed.entries.push_back({"third", "exp_avg", at::zeros({4, 3})});
    refused(changed, "state entry 'exp_avg' of 'third' belongs to no parameter here");
    changed = state;
    changed.entries.push_back(changed.entries[0]);
    refused(changed, "state entry 'exp_avg' of 'first' is there twice");
    optimizer->load(state);
    CHECK(optimizer->state().step == 7);
}
