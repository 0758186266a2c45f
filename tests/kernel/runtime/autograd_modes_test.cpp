// The bridge in modes differentiable and none, and what all modes share. To add a case: give a Behaviour, run
// it, assert on gradients or on the error's text.
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include "bridge_fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using switchyard::test::Behaviour;
using switchyard::test::BridgeFixture;
using torch::autograd::grad;

namespace {

at::Tensor leaf(std::int64_t size, double first) {
    at::Tensor values = at::zeros({size}, at::TensorOptions().dtype(at::kDouble));
    for (std::int64_t i = 0; i < size; ++i)
        values.data_ptr<double>()[i] = first + 0.1 * static_cast<double>(i);
    return values.requires_grad_();
}

// z = x * y, with nothing saved.
Behaviour unsaved_product() {
    Behaviour behaviour;
    behaviour.forward = [](const auto& inputs, runtime::Tensors& outputs, Saved*) {
        outputs.push_back(inputs[0] * inputs[1]);
    };
    return behaviour;
}

}  // namespace

TEST_CASE("differentiable: autograd follows the component, twice if asked") {
    Behaviour behaviour;
    behaviour.forward = [](const auto& inputs, runtime::Tensors& outputs, Saved* saved) {
        CHECK(saved == nullptr);
        outputs.push_back(inputs[0] * inputs[0] * inputs[1]);
    };
    const BridgeFixture op(GradientMode::differentiable, behaviour);
    const at::Tensor x = leaf(3, 0.3), y = leaf(3, 0.7);
    const auto first = grad({op.z(x, y).sum()}, {x}, {}, true, /*create_graph=*/true);
    CHECK(at::allclose(grad({first[0].sum()}, {x})[0], y.detach() * 2));
}

TEST_CASE("differentiable: a component that loses the graph is told so") {
    Behaviour behaviour;
    behaviour.forward = [](const auto& inputs, runtime::Tensors& outputs, Saved*) {
        outputs.push_back(inputs[0].detach() * 2);
    };
    const BridgeFixture op(GradientMode::differentiable, behaviour);
    CHECK_THROWS_WITH(
        op.z(leaf(2, 0.3), leaf(2, 0.3)),
        Catch::Matchers::Equals("plugin 'acme', component 'bridge_test', test.forward: says that it is "
                                "differentiable, but its output z has no gradient"));
    CHECK_NOTHROW(op.z(leaf(2, 0.3).detach(), leaf(2, 0.3).detach()));
}

TEST_CASE("none: a gradient is refused by name, a call without one is served") {
    const Behaviour behaviour = unsaved_product();
    const BridgeFixture op(GradientMode::none, behaviour);
    const at::Tensor x = leaf(2, 0.3), y = leaf(2, 0.7);
    CHECK_THROWS_WITH(
        op.z(x.detach(), y),
        Catch::Matchers::Equals(
            "activation (plugin 'acme', component 'bridge_test'): a gradient is needed for y, "
            "and this component has none; call it without grad mode, or choose another backend"));
    const c10::AutoGradMode no_grad(false);
    CHECK(at::equal(op.z(x, y), x * y));
}

TEST_CASE("whatever forward throws comes out as the plugin's error") {
    Behaviour behaviour;
    behaviour.forward = [](const auto&, runtime::Tensors&, Saved*) { throw 3.5; };
    for (const GradientMode mode :
         {GradientMode::kernel, GradientMode::differentiable, GradientMode::recompute, GradientMode::none}) {
        const BridgeFixture op(mode, behaviour);
        const at::Tensor x = leaf(2, 0.3).detach();
        CHECK_THROWS_WITH(op.z(x, x), Catch::Matchers::Equals(
                                          "plugin 'acme', component 'bridge_test', test.forward: threw a "
                                          "value of type 'double'"));
    }
}
