// The reference of activation against PyTorch's results (tests/fixtures) and finite differences.
// To add a case: add it to activation() in tests/fixtures/make_fixtures.py.
#include <switchyard/conformance/differentiate.h>
#include <switchyard/reference/activation.h>

#include "check.h"
#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::difference;

TEST_CASE("activation agrees with PyTorch in values and gradients") {
    for (const auto& c : test::load_fixture("activation")) {
        INFO(c.name);
        ActivationParams params;
        params.activation = *parse<ActivationKind>(c.numbers.at("kind").get<std::string>());
        const ActivationInputs in{conformance::leaf(c["x"]), conformance::leaf(c["bias"])};
        const at::Tensor y = reference::activation(in, params);
        CHECK(difference(y, c["y"]) < 1e-14);
        const auto grads = conformance::differentiate({y}, {c["grad_y"]}, {in.x, in.bias});
        CHECK(difference(grads[0], c["grad_x"]) < 1e-13);
        CHECK(grads[1].defined() == c["bias"].defined());
        if (grads[1].defined()) CHECK(difference(grads[1], c["grad_bias"]) < 1e-13);
    }
}

TEST_CASE("activation's gradients agree with finite differences, dropout included") {
    for (const auto kind :
         {ActivationKind::gelu_erf, ActivationKind::gelu_tanh, ActivationKind::silu, ActivationKind::swiglu,
          ActivationKind::geglu_erf, ActivationKind::geglu_tanh, ActivationKind::identity}) {
        INFO(name(kind));
        ActivationParams params;
        params.activation = kind;
        params.dropout = {0.4, 3};
        const auto function = [&](const std::vector<at::Tensor>& x) -> std::vector<at::Tensor> {
            return {reference::activation({x[0], x[1]}, params)};
        };
        CHECK(test::gradient_error(function, {test::normal({2, 3, 8}, 1), test::normal({8}, 2)}) < 1e-8);
    }
}

TEST_CASE("activation keeps the dtype of x with a float32 bias") {
    const at::Tensor x = test::normal({3, 4}, 1).to(at::kBFloat16);
    CHECK(reference::activation({x, test::normal({4}, 2).to(at::kFloat)}, {}).scalar_type() == at::kBFloat16);
}

TEST_CASE("activation says what does not fit") {
    ActivationParams gated;
    gated.activation = ActivationKind::swiglu;
    CHECK_THROWS_WITH(reference::activation({test::normal({2, 5}, 1), {}}, gated),
                      "activation: swiglu needs x [..., 2 * width], got [2, 5]");
    CHECK_THROWS_WITH(reference::activation({test::normal({2, 6}, 1), test::normal({3}, 1)}, gated),
                      "activation: bias must be [6], the last dimension of x, got [3]");
}
