// dropout(act(x + bias)) through components that serve only some of it, against the reference of the whole.
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>

#include "core/kernel/runtime/operations/activation_op.h"

#include "compare_gradients.h"
#include "narrow_components.h"
#include "tests/kernel/runtime/fake_component.h"

#include <switchyard_test.h>

using namespace switchyard;
using runtime::ActivationOp;
using switchyard::test::FakeComponent;
using switchyard::test::leaf;
using FakeActivation = FakeComponent<Activation, switchyard::test::TestActivation>;

namespace {

ActivationOp bound(const FakeActivation& fake, ActivationKind kind, const resolver::Composed& composed = {}) {
    auto request = std::make_shared<ActivationRequest>();
    request->dtype = DType::float64;
    request->needs_grad = true;
    request->activation = kind;
    request->rows = {1, 50};
    request->width = 66;
    request->input_bias = composed.empty() || composed.front() != "bias";
    request->dropout = composed.empty() || composed.back() != "dropout" ? 0.25 : 0.0;
    runtime::BindingInfo info;
    info.slot = "activation";
    info.request = request;
    return ActivationOp(fake.loaded(), info, composed);
}

}  // namespace

TEST_CASE("activation composed of narrower parts equals the reference of the whole, gradients too") {
    const auto mode = GENERATE(GradientMode::kernel, GradientMode::differentiable, GradientMode::recompute);
    const auto kind = GENERATE(ActivationKind::gelu_erf, ActivationKind::relu, ActivationKind::swiglu,
                               ActivationKind::identity);
    const FakeActivation fake(mode);
    ActivationParams params;
    params.activation = kind;
    params.dropout = {0.25, 9};
    const std::int64_t channels = is_gated(kind) ? 132 : 66;
    for (const resolver::Composed& composed :
         {resolver::Composed{}, {"bias"}, {"dropout"}, {"bias", "dropout"}}) {
        const ActivationOp op = bound(fake, kind, composed);
        const auto difference = test::compare(
            [&](const auto& i) {
                return std::vector<at::Tensor>{op({i[0], i[1]}, params)};
            },
            [&](const auto& i) {
                return std::vector<at::Tensor>{reference::activation({i[0], i[1]}, params)};
            },
            {leaf({2, 5, channels}, 1), leaf({channels}, 2)});
        CHECK(difference.outputs == 0.0);
        CHECK(difference.gradients < 1e-13);
        CHECK(op.binding().executed().total() == 1);
    }
}

TEST_CASE("activation: calls that do not fit are errors with their values") {
    const FakeActivation fake(GradientMode::kernel, "acme", "acts");
    const ActivationOp op = bound(fake, ActivationKind::geglu_erf, {"bias"});
    ActivationInputs in{leaf({4, 132}, 1), {}};
    ActivationParams params;
    params.activation = ActivationKind::geglu_erf;
    std::string expected;
    SECTION("kind") {
        params.activation = ActivationKind::relu;
        expected = "the activation is relu, bound for geglu_erf";
    }
    SECTION("odd channels") {
        in.x = leaf({4, 131}, 1);
        expected = "geglu_erf needs x [..., 2 * width], got [4, 131]";
    }
    SECTION("width") {
        in.x = leaf({4, 100}, 1);
        expected = "width is 50, bound for 66";
    }
    SECTION("bias") {
        in.bias = leaf({66}, 1);
        expected = "bias must be [132], the last dimension of x, got [66]";
    }
    CHECK_THROWS_WITH(op(in, params),
                      Catch::Matchers::Equals("activation (plugin 'acme', component 'acts'): " + expected));
}
