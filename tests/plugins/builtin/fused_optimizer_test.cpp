// What conformance does not see of the fused optimizer: messages, the same bits on any number of threads,
// states of other plugins. To add a case: parameters from `groups`, a call, and what must hold afterwards.
#include "builtin.h"

#include <limits>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/optimizer.h>

#include <switchyard_test.h>

using namespace switchyard;
using switchyard::test::contains;

namespace {

constexpr OptimizerKind every_algorithm[] = {OptimizerKind::adamw, OptimizerKind::adam, OptimizerKind::sgd,
                                             OptimizerKind::lion,  OptimizerKind::lamb, OptimizerKind::muon};

OptimizerRequest request_for(OptimizerKind algorithm) {
    OptimizerRequest request;
    request.algorithm = algorithm;
    return request;
}

test::Made<Optimizer> make(const OptimizerRequest& request) {
    return test::make<Optimizer>("fused", "fused", request);
}

// Tensors whose pieces end within them and at their borders.
std::vector<ParameterGroup> groups() {
    ParameterGroup group;
    group.name = "all";
    group.hyper.weight_decay = 0.1;
    group.hyper.momentum = 0.9;
    for (const std::int64_t rows : {3, 1000, 300}) {
        Parameter parameter;
        parameter.name = "w" + std::to_string(rows);
        parameter.value = at::randn({rows, 257});
        parameter.gradient = at::randn({rows, 257});
        group.parameters.push_back(parameter);
    }
    return {group};
}

std::vector<ParameterGroup> copy_of(const std::vector<ParameterGroup>& given) {
    auto copies = given;
    for (auto& group : copies)
        for (auto& parameter : group.parameters) parameter.value = parameter.value.clone();
    return copies;
}

bool same_values(const std::vector<ParameterGroup>& a, const std::vector<ParameterGroup>& b) {
    for (std::size_t i = 0; i < a[0].parameters.size(); ++i)
        if (!at::equal(a[0].parameters[i].value, b[0].parameters[i].value)) return false;
    return true;
}

struct Threads {
    explicit Threads(int count) { at::set_num_threads(count); }
    ~Threads() { at::set_num_threads(before); }
    int before = at::get_num_threads();
};

}  // namespace

TEST_CASE("a fused step is the same bits on any number of threads") {
    const auto given = groups();
    StepParams params;
    params.max_grad_norm = 1.0;
    for (const OptimizerKind algorithm : every_algorithm) {
        if (algorithm == OptimizerKind::muon) continue;  // its products are LibTorch's
        const auto request = request_for(algorithm);
        std::vector<std::vector<ParameterGroup>> found;
        for (const int count : {1, 2, 3, 7}) {
            const Threads threads(count);
            found.push_back(copy_of(given));
            const auto optimizer = make(request);
            optimizer->bind(found.back());
            for (int step = 0; step < 3; ++step) optimizer->step(found.back(), params);
            INFO(name(algorithm) << " on " << count << " threads");
            CHECK(same_values(found.back(), found.front()));
        }
    }
}

TEST_CASE("clipping leaves the gradients as they are") {
    auto parameters = groups();
    const auto before = parameters[0].parameters[1].gradient.clone();
    const auto request = request_for(OptimizerKind::adamw);
    const auto optimizer = make(request);
    optimizer->bind(parameters);
    StepParams params;
    params.max_grad_norm = 0.5;
    params.grad_scale = 8.0;
    optimizer->step(parameters, params);
    CHECK(at::equal(parameters[0].parameters[1].gradient, before));
}

TEST_CASE("clipping by a fused step survives gradients whose squares overflow") {
    auto parameters = groups();
    const auto before = parameters[0].parameters[0].value.clone();
    parameters[0].hyper = {.lr = 1.0, .weight_decay = 0.0};
    parameters[0].parameters[0].gradient.fill_(1e30);
    const auto request = request_for(OptimizerKind::sgd);
    const auto optimizer = make(request);
    optimizer->bind(parameters);
    StepParams params;
    params.max_grad_norm = 1.0;
    optimizer->step(parameters, params);
    // The gradient of the first tensor is all of the norm: each of its values becomes 1 / sqrt(how many).
    const auto moved = (before - parameters[0].parameters[0].value).mean().item<double>();
    CHECK(moved == Approx(1.0 / std::sqrt(3.0 * 257.0)).epsilon(1e-3));
}

TEST_CASE("a fused step goes on from the state of another plugin's optimizer") {
    for (const OptimizerKind algorithm : every_algorithm) {
        const auto request = request_for(algorithm);
        const auto naive = test::make<Optimizer>("naive", "naive", request);
        const auto optimizer = make(request);
        auto theirs = groups();
        naive->bind(theirs);
        naive->step(theirs, {});
        auto ours = copy_of(theirs);
        optimizer->bind(ours);
        optimizer->load(naive->state());
        naive->step(theirs, {});
        optimizer->step(ours, {});
        INFO(name(algorithm));
        CHECK(optimizer->state().step == 2);
        for (std::size_t i = 0; i < 3; ++i) {
            const auto& expected = theirs[0].parameters[i].value;
            CHECK((ours[0].parameters[i].value - expected).abs().max().item<double>() < 1e-5);
        }
    }
}

TEST_CASE("a fused step names what it can't serve, and what of a state does not fit") {
    const auto request = request_for(OptimizerKind::adamw);
    const auto optimizer = make(request);
    auto parameters = groups();
    parameters[0].parameters[1].name = "w3";
    CHECK_THROWS_WITH(optimizer->bind(parameters), "fused optimizer: two parameters are called 'w3'");
    CHECK_THROWS_WITH(optimizer->bind({{"none", {}, {}}}), "fused optimizer: group 'none' has no parameters");
    parameters = groups();
    parameters[0].parameters[0].value = at::ones({4, 6}).slice(1, 0, 6, 2);
    CHECK_THROWS_WITH(optimizer->bind(parameters),
                      "fused optimizer: parameter 'w3' is not dense in memory; give its contiguous copy");
    parameters = groups();
    parameters[0].parameters[0].master = at::zeros({257, 3}).t();
    CHECK_THROWS_WITH(
        optimizer->bind(parameters),
        "fused optimizer: the master weight of 'w3' does not lie in memory as its parameter does");
    parameters = groups();
    optimizer->bind(parameters);
    parameters[0].parameters[2].gradient = at::ones({300, 257}).to_sparse();
    CHECK_THROWS_WITH(optimizer->step(parameters, {}), "fused optimizer: the gradient of 'w300' is sparse");
    parameters[0].parameters[2].gradient = at::ones({257, 300});
    CHECK_THROWS_WITH(optimizer->step(parameters, {}),
                      contains("the gradient of 'w300' has shape [257, 300], its parameter [300, 257]"));
    auto state = optimizer->state();
    CHECK(state.step == 0);
    state.entries[1].value = at::full({3, 257}, 1, at::kByte);
    CHECK_THROWS_WITH(optimizer->load(state),
                      "fused optimizer: state entry 'exp_avg_sq' of 'w3' is of dtype Byte, expected Float");
}

TEST_CASE("a NaN of any bits stays one when its master weight is rounded to bfloat16") {
    OptimizerRequest request = request_for(OptimizerKind::adamw);
    request.dtype = request.gradient_dtype = DType::bfloat16;
    request.master_weights = true;
    for (const std::string plugin : {"fused", "optim8bit"}) {
        const auto optimizer = test::make<Optimizer>(plugin, plugin, request);
        ParameterGroup group;
        group.name = "all";
        Parameter parameter;
        parameter.name = "w";
        parameter.master = at::ones({40});
        // All ones behind the sign: to add half of a last place and cut would give -0.
        parameter.master.view(at::kInt).fill_(0x7FFFFFFF);
        parameter.value = at::ones({40}, at::dtype(at::kBFloat16));
        parameter.gradient = at::ones({40}, at::dtype(at::kBFloat16));
        group.parameters.push_back(parameter);
        std::vector<ParameterGroup> all{group};
        optimizer->bind(all);
        optimizer->step(all, {});
        INFO(plugin);
        CHECK(at::isnan(parameter.value).all().item<bool>());
    }
}
