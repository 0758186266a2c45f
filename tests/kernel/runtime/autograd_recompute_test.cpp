// The bridge in mode recompute: the component computes forward, the reference is differentiated. To add a
// case: give a Behaviour whose `reference` is plain ATen, and compare with the reference's own gradients.
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include "bridge_fixture.h"
#include "gradient_check.h"

#include <switchyard_test.h>

using namespace switchyard;
using switchyard::test::Behaviour;
using switchyard::test::BridgeFixture;
using torch::autograd::grad;

namespace {

at::Tensor leaf_from(std::int64_t size, double first) {
    at::Tensor values = at::zeros({size}, at::TensorOptions().dtype(at::kDouble));
    for (std::int64_t i = 0; i < size; ++i)
        values.data_ptr<double>()[i] = first + 0.1 * static_cast<double>(i);
    return values.requires_grad_();
}

// z = x^2 * sin(y); counts how often each side ran.
struct Counted {
    int forwards = 0, references = 0;
    Behaviour behaviour;

    Counted() {
        behaviour.forward = [this](const auto& inputs, runtime::Tensors& outputs, Saved* saved) {
            ++forwards;
            CHECK(saved == nullptr);
            outputs.push_back(inputs[0] * inputs[0] * at::sin(inputs[1]));
        };
        behaviour.reference = [this](const runtime::Tensors& inputs) {
            ++references;
            return runtime::Tensors{inputs[0] * inputs[0] * at::sin(inputs[1])};
        };
    }
};

}  // namespace

TEST_CASE("recompute: gradients are those of the reference, which runs in backward only") {
    Counted counted;
    const BridgeFixture op(GradientMode::recompute, counted.behaviour);
    const at::Tensor x = leaf_from(5, 0.3), y = leaf_from(5, 0.7);
    const at::Tensor z = op.z(x, y);
    CHECK(counted.forwards == 1);
    CHECK(counted.references == 0);
    const auto grads = grad({z.sum()}, {x, y});
    CHECK(counted.references == 1);
    CHECK(at::allclose(grads[0], (x * 2 * at::sin(y)).detach()));
    const auto function = [&](const std::vector<at::Tensor>& inputs) { return op.z(inputs[0], inputs[1]); };
    CHECK(test::gradient_error(function, {x, y}) < 1e-7);
}

TEST_CASE("recompute: one tensor in several places gets each place's part once") {
    Counted counted;
    const BridgeFixture op(GradientMode::recompute, counted.behaviour);
    const at::Tensor x = leaf_from(4, 0.5);
    const at::Tensor expected = grad({(x * x * at::sin(x)).sum()}, {x})[0];
    CHECK(at::allclose(grad({op.z(x, x).sum()}, {x})[0], expected));
}

TEST_CASE("recompute: a second derivative is the reference's") {
    Counted counted;
    const BridgeFixture op(GradientMode::recompute, counted.behaviour);
    const at::Tensor x = leaf_from(4, 0.5), y = leaf_from(4, 0.2);
    const auto twice = [&](const at::Tensor& z) {
        const auto first = grad({z.sum()}, {x, y}, {}, true, /*create_graph=*/true);
        return grad({(first[0] * first[1]).sum()}, {x, y});
    };
    const auto expected = twice(x * x * at::sin(y));
    const auto result = twice(op.z(x, y));
    CHECK(at::allclose(result[0], expected[0]));
    CHECK(at::allclose(result[1], expected[1]));
    const auto same = grad({grad({op.z(x, x).sum()}, {x}, {}, true, true)[0].sum()}, {x})[0];
    const auto same_expected =
        grad({grad({(x * x * at::sin(x)).sum()}, {x}, {}, true, true)[0].sum()}, {x})[0];
    CHECK(at::allclose(same, same_expected));
}

TEST_CASE("recompute: inputs without gradient, undefined inputs and in-place changes") {
    Counted counted;
    const BridgeFixture op(GradientMode::recompute, counted.behaviour);
    const at::Tensor x = leaf_from(4, 0.5);
    SECTION("an input that needs none") {
        const at::Tensor y = leaf_from(4, 0.1).detach();
        CHECK(at::allclose(grad({op.z(x, y).sum()}, {x})[0], (x * 2 * at::sin(y)).detach()));
    }
    SECTION("undefined") {
        Behaviour square;
        square.forward = [](const auto& inputs, runtime::Tensors& outputs, Saved*) {
            outputs.push_back(inputs[0] * inputs[0]);
        };
        square.reference = [](const runtime::Tensors& inputs) {
            CHECK_FALSE(inputs[1].defined());
            return runtime::Tensors{inputs[0] * inputs[0]};
        };
        const BridgeFixture one(GradientMode::recompute, square);
        CHECK(at::allclose(grad({one.z(x, {}).sum()}, {x})[0], (x * 2).detach()));
    }
    SECTION("changed in place") {
        const at::Tensor y = leaf_from(4, 0.1).detach();
        const at::Tensor z = op.z(x, y);
        y.add_(1);
        CHECK_THROWS_WITH(grad({z.sum()}, {x}), test::contains("modified by an inplace operation"));
    }
    SECTION("run twice, then released") {
        const at::Tensor z = op.z(x, x).sum();
        const at::Tensor first = grad({z}, {x}, {}, true)[0];
        CHECK(at::equal(first, grad({z}, {x})[0]));
        CHECK_THROWS_WITH(grad({z}, {x}), test::contains("second time"));
    }
}
