// One optimizer step through a component that neither unscales nor clips, against the reference that does
// both.
#include <algorithm>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/scalar_tensor.h>

#include <switchyard/reference/optimizer.h>
#include "core/kernel/runtime/operations/optimizer_op.h"

#include "compare_gradients.h"
#include "tests/kernel/runtime/fake_component.h"

#include <switchyard_test.h>

using namespace switchyard;
using runtime::OptimizerOp;
using switchyard::test::FakeComponent;
using switchyard::test::leaf;

namespace {

class TestOptimizer final : public Optimizer, public ShardedOptimizer {
public:
    explicit TestOptimizer(const CreateInfo& info)
        : Optimizer(info),
          request_(*static_cast<const OptimizerRequest*>(info.request)),
          steps_(request_.algorithm) {}

    void bind(const std::vector<ParameterGroup>& groups) override { steps_.bind(groups); }
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) override {
        look_at(params);
        return steps_.step(groups, params);
    }
    std::int64_t part_alignment() const override { return 32; }
    void bind_parts(const std::vector<ParameterGroup>& groups, const std::vector<ParameterPart>&) override {
        steps_.bind(groups);
    }
    StepResult step_parts(std::vector<ParameterGroup>& groups, const StepParams& params,
                          double grad_norm) override {
        look_at(params);
        return steps_.step_parts(groups, params, grad_norm);
    }
    void* query(std::string_view id) override {
        return id == sharded_optimizer_interface ? static_cast<ShardedOptimizer*>(this) : nullptr;
    }
    OptimizerState state() const override { return steps_.state(); }
    void load(const OptimizerState& state) override { steps_.load(state); }

private:
    void look_at(const StepParams& params) {
        executed();
        if (!request_.clip && params.max_grad_norm > 0.0) throw std::logic_error("got clipping");
        if (!request_.unscale && (params.grad_scale != 1.0 || params.grad_scale_tensor.defined())) {
            throw std::logic_error("got a scale");
        }
    }

    OptimizerRequest request_;
    reference::OptimizerSteps steps_;
};

using FakeOptimizer = FakeComponent<Optimizer, TestOptimizer>;

OptimizerOp bound(const FakeOptimizer& fake, const resolver::Composed& composed) {
    auto request = std::make_shared<OptimizerRequest>();
    request->clip = std::find(composed.begin(), composed.end(), "clip") == composed.end();
    request->unscale = std::find(composed.begin(), composed.end(), "unscale") == composed.end();
    runtime::BindingInfo info;
    info.slot = "optimizer";
    info.request = request;
    return OptimizerOp(fake.loaded(), info, composed);
}

std::vector<ParameterGroup> make_groups(at::ScalarType dtype = at::kFloat) {
    ParameterGroup group;
    group.name = "all";
    for (int i = 0; i < 3; ++i) {
        Parameter parameter;
        parameter.name = std::string(1, static_cast<char>('a' + i));
        parameter.value = leaf({4, 3 + i}, i).detach().to(dtype);
        if (i != 1) parameter.gradient = leaf({4, 3 + i}, 10 + i).detach().to(dtype) * 20;
        group.parameters.push_back(parameter);
    }
    return {group};
}

const std::vector<resolver::Composed> optimizer_compositions{{}, {"unscale"}, {"clip"}, {"unscale", "clip"}};

}  // namespace

TEST_CASE("a composed step equals the step of an optimizer that unscales and clips itself") {
    const FakeOptimizer fake(GradientMode::none);
    const auto dtype = GENERATE(at::kFloat, at::kDouble, at::kBFloat16);
    // The gradients that a composed step changes in place round to their dtype, twice.
    const double tolerance = dtype == at::kDouble ? 1e-7 : dtype == at::kFloat ? 1e-5 : 0.02;
    for (const auto& composed : optimizer_compositions) {
        const bool unscales = composed.empty() || composed.front() == "unscale";
        StepParams params;
        params.max_grad_norm = 1.0;
        if (unscales) params.grad_scale = 4.0;
        auto expected = make_groups(dtype), groups = make_groups(dtype);
        reference::OptimizerSteps oracle(OptimizerKind::adamw);
        oracle.bind(expected);
        const OptimizerOp op = bound(fake, composed);
        op.bind(groups);
        for (int step = 0; step < 3; ++step) {
            for (std::size_t i = 0; i < 3; ++i) {
                groups[0].parameters[i].gradient = make_groups(dtype)[0].parameters[i].gradient;
                expected[0].parameters[i].gradient = make_groups(dtype)[0].parameters[i].gradient;
            }
            const StepResult result = op.step(groups, params);
            const StepResult wanted = oracle.step(expected, params);
            CHECK(at::allclose(result.grad_norm, wanted.grad_norm, tolerance, 0.0));
            if (unscales) CHECK(result.found_inf.item<float>() == 0.0F);
        }
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK(at::allclose(groups[0].parameters[i].value, expected[0].parameters[i].value, tolerance,
                               tolerance * 0.01));
        }
        CHECK(op.state().step == 3);
        CHECK(op.binding().executed().total() == 3);
    }
}

TEST_CASE("a step of parts takes the norm that it is given, composed or not") {
    const FakeOptimizer fake(GradientMode::none);
    for (const auto& composed : optimizer_compositions) {
        const bool unscales = composed.empty() || composed.front() == "unscale";
        StepParams params;
        params.max_grad_norm = 1.0;
        if (unscales) params.grad_scale = 4.0;
        const double norm = 500.0;  // of parts that are elsewhere, too
        auto expected = make_groups(), groups = make_groups();
        reference::OptimizerSteps oracle(OptimizerKind::sgd);
        auto request = std::make_shared<OptimizerRequest>();
        request->algorithm = OptimizerKind::sgd;
        request->clip = std::find(composed.begin(), composed.end(), "clip") == composed.end();
        request->unscale = std::find(composed.begin(), composed.end(), "unscale") == composed.end();
        runtime::BindingInfo info;
        info.slot = "optimizer";
        info.request = request;
        const OptimizerOp op(fake.loaded(), info, composed);
        CHECK(op.part_alignment() == 32);
        oracle.bind(expected);
        op.bind_parts(groups, {{0, 0, 12}, {1, 0, 16}, {2, 0, 20}});
        const StepResult result = op.step_parts(groups, params, norm);
        oracle.step_parts(expected, params, norm);
        CHECK(result.grad_norm.item<double>() == norm);
        if (unscales) CHECK(result.found_inf.item<float>() == 0.0F);
        for (std::size_t i = 0; i < 3; ++i) {
            const auto& value = groups[0].parameters[i].value;
            CHECK(at::allclose(value, expected[0].parameters[i].value, 1e-6, 1e-8));
            CHECK(value.equal(make_groups()[0].parameters[i].value) == (i == 1));
        }
        CHECK(op.binding().executed().total() == 1);
    }
}

namespace {

// As kernels do: the memory changes, and nothing that LibTorch counts.
class RawOptimizer final : public Optimizer {
public:
    explicit RawOptimizer(const CreateInfo& info) : Optimizer(info) {}
    void bind(const std::vector<ParameterGroup>&) override {}
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams&) override {
        executed();
        for (auto& group : groups) {
            for (auto& parameter : group.parameters) {
                if (parameter.gradient.defined())
                    *static_cast<float*>(parameter.value.storage().mutable_data()) = 5.0F;
            }
        }
        return {};
    }
    OptimizerState state() const override { return {}; }
    void load(const OptimizerState&) override {}
};

}  // namespace

TEST_CASE("a step raises the versions of what it changed, whatever the component does") {
    const FakeComponent<Optimizer, RawOptimizer> fake(GradientMode::none);
    runtime::BindingInfo info;
    info.slot = "optimizer";
    info.request = std::make_shared<OptimizerRequest>();
    const OptimizerOp op(fake.loaded(), info, {});
    CHECK(op.part_alignment() == std::nullopt);
    auto groups = make_groups();
    auto& parameters = groups[0].parameters;  // the second has no gradient
    parameters[2].master = parameters[2].value.clone();
    op.bind(groups);
    std::vector<std::uint32_t> before;
    for (const auto& parameter : parameters) before.push_back(parameter.value._version());
    const auto master = parameters[2].master._version();
    op.step(groups, {});
    CHECK(parameters[0].value._version() > before[0]);
    CHECK(parameters[1].value._version() == before[1]);
    CHECK(parameters[2].value._version() > before[2]);
    CHECK(parameters[2].master._version() > master);
}

TEST_CASE("a gradient that is not finite changes nothing, composed or not") {
    const FakeOptimizer fake(GradientMode::none);
    for (const auto& composed : optimizer_compositions) {
        auto groups = make_groups();
        const OptimizerOp op = bound(fake, composed);
        op.bind(groups);
        groups[0].parameters[2].gradient[0][0] = std::numeric_limits<float>::infinity();
        StepParams params;
        params.max_grad_norm = 1.0;
        const bool unscales = composed.empty() || composed.front() == "unscale";
        if (unscales)
            params.grad_scale_tensor = at::scalar_tensor(4.0, at::TensorOptions().dtype(at::kFloat));
        const StepResult result = op.step(groups, params);
        CHECK(result.found_inf.item<float>() == 1.0F);
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK(at::equal(groups[0].parameters[i].value, make_groups()[0].parameters[i].value));
        }
        CHECK(op.state().step == 0);
    }
}

TEST_CASE("a step that the optimizer is not bound for is refused before it changes anything") {
    const FakeOptimizer fake(GradientMode::none, "acme", "adam");
    auto request = std::make_shared<OptimizerRequest>();
    runtime::BindingInfo info;
    info.slot = "optimizer";
    info.request = request;
    const OptimizerOp op(fake.loaded(), info);
    auto groups = make_groups();
    op.bind(groups);
    StepParams clipping, scaled;
    clipping.max_grad_norm = 0.5;
    scaled.grad_scale = 2.0;
    CHECK_THROWS_WITH(op.step(groups, clipping),
                      Catch::Matchers::Equals("optimizer (plugin 'acme', component 'adam'): max_grad_norm is "
                                              "0.5, bound for steps without clipping"));
    CHECK_THROWS_WITH(op.step(groups, scaled),
                      test::contains("gradients are scaled by 2, bound for steps without unscaling"));
    CHECK_THROWS_WITH(OptimizerOp(fake.loaded(), info, {"bias"}),
                      test::contains("cannot be composed with 'bias'"));
    CHECK(op.state().step == 0);
}

namespace {

// Takes the contract at its word: it is bound once.
class BoundOnce final : public Optimizer {
public:
    explicit BoundOnce(const CreateInfo& info) : Optimizer(info) {}
    void bind(const std::vector<ParameterGroup>&) override {
        if (bound_) throw std::logic_error("it was bound before");
        bound_ = true;
    }
    StepResult step(std::vector<ParameterGroup>&, const StepParams&) override {
        executed();
        ++steps_;
        return {};
    }
    OptimizerState state() const override { return {"adamw", steps_, {}}; }
    void load(const OptimizerState&) override {}

private:
    bool bound_ = false;
    std::int64_t steps_ = 0;
};

}  // namespace

TEST_CASE("a component is bound once: parameters that are bound again get another, without its steps") {
    const FakeComponent<Optimizer, BoundOnce> fake(GradientMode::none);
    runtime::BindingInfo info;
    info.slot = "optimizer";
    info.request = std::make_shared<OptimizerRequest>();
    const OptimizerOp op(fake.loaded(), info, {});
    auto groups = make_groups();
    for (int again = 0; again < 3; ++again) {
        op.bind(groups);
        CHECK(op.state().step == 0);
        op.step(groups, {});
        CHECK(op.state().step == 1);
    }
    CHECK(op.binding().executed().total() == 3);
}
