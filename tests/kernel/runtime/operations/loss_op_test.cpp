// Losses through components, cross-entropy's projection done for those that take logits only.
#include <limits>

#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/tensor.h>

#include "core/kernel/runtime/call_observer.h"
#include "core/kernel/runtime/operations/loss_op.h"

#include "compare_gradients.h"
#include "narrow_components.h"
#include "tests/kernel/runtime/fake_component.h"

#include <switchyard_test.h>

using namespace switchyard;
using runtime::LossOp;
using switchyard::test::FakeComponent;
using switchyard::test::leaf;
using FakeLoss = FakeComponent<Loss, switchyard::test::TestLoss>;

namespace {

LossOp bound(const FakeLoss& fake, bool projection, bool per_row, const resolver::Composed& composed = {}) {
    auto request = std::make_shared<LossRequest>();
    request->dtype = DType::float64;
    request->needs_grad = true;
    request->rows = {1, 20};
    request->classes = 11;
    request->width = projection ? 6 : 0;
    request->projection = request->projection_bias = projection;
    request->label_smoothing = 0.1;
    request->z_loss = 1e-3;
    request->per_row = per_row;
    request->may_overwrite_logits = !projection;
    runtime::BindingInfo info;
    info.slot = "loss";
    info.request = request;
    return LossOp(fake.loaded(), info, composed);
}

at::Tensor targets(std::vector<std::int64_t> values) {
    return at::tensor(values, at::TensorOptions().dtype(at::kLong));
}

}  // namespace

TEST_CASE("loss composed of projection and logits equals the reference of both, gradients too") {
    const auto mode = GENERATE(GradientMode::kernel, GradientMode::differentiable, GradientMode::recompute);
    const auto reduction = GENERATE(Reduction::mean, Reduction::sum, Reduction::none);
    const FakeLoss fake(mode);
    LossParams params;
    params.reduction = reduction;
    params.divisor = reduction == Reduction::sum ? 3.0 : 0.0;
    params.label_smoothing = 0.1;
    params.z_loss = 1e-3;
    const at::Tensor labels = targets({3, -100, 10, 0, 7});
    for (const bool composed : {false, true}) {
        const LossOp op = bound(fake, !composed, reduction == Reduction::none,
                                composed ? resolver::Composed{"projection"} : resolver::Composed{});
        const auto difference = test::compare(
            [&](const auto& i) {
                const auto made = op({i[0], i[1], i[2], labels}, params);
                return std::vector<at::Tensor>{made.loss, made.count};
            },
            [&](const auto& i) {
                const auto made = reference::loss({i[0], i[1], i[2], labels}, params);
                return std::vector<at::Tensor>{made.loss, made.count};
            },
            {leaf({5, 6}, 1), leaf({11, 6}, 2), leaf({11}, 3)});
        CHECK(difference.outputs < 1e-14);
        CHECK(difference.gradients < 1e-13);
        CHECK(op.binding().executed().total() == 1);
    }
}

TEST_CASE("loss: logits need no projection") {
    const FakeLoss fake(GradientMode::kernel);
    const LossOp op = bound(fake, false, false);
    const at::Tensor labels = targets({1, 2});
    const auto difference = test::compare(
        [&](const auto& i) {
            return std::vector<at::Tensor>{op({i[0], {}, {}, labels}, {}).loss};
        },
        [&](const auto& i) {
            return std::vector<at::Tensor>{reference::loss({i[0], {}, {}, labels}, {}).loss};
        },
        {leaf({2, 11}, 1)});
    CHECK(difference.outputs == 0.0);
    CHECK(difference.gradients < 1e-14);
}

TEST_CASE("loss: the gradient may take the memory of logits that are given up, once") {
    const FakeLoss fake(GradientMode::kernel);
    const LossOp op = bound(fake, false, false);
    const at::Tensor values = leaf({2, 11}, 1), kept = values.detach().clone(), labels = targets({1, 2});
    const at::Tensor expected_leaf = kept.clone().requires_grad_();
    reference::loss({expected_leaf, {}, {}, labels}, {}).loss.backward();

    const at::Tensor logits = values.mul(1.0);
    LossParams params;
    params.may_overwrite_logits = true;
    const at::Tensor loss = op({logits, {}, {}, labels}, params).loss;
    loss.backward({}, true);
    CHECK(values.grad().allclose(expected_leaf.grad(), 0.0, 1e-14));
    CHECK_FALSE(logits.detach().equal(kept));
    CHECK_THROWS_WITH(loss.backward(), test::contains("modified by an inplace operation"));
}

TEST_CASE("loss: who saved logits that are given up is told so in backward") {
    const FakeLoss fake(GradientMode::kernel);
    const LossOp op = bound(fake, false, false);
    const at::Tensor logits = leaf({2, 11}, 1).mul(1.0);
    const at::Tensor squares = logits.square().sum();
    LossParams params;
    params.may_overwrite_logits = true;
    const at::Tensor loss = op({logits, {}, {}, targets({1, 2})}, params).loss;
    CHECK_THROWS_WITH(at::add(loss, squares).backward(), test::contains("modified by an inplace operation"));
}

TEST_CASE("loss: logits that are not given up stay as they are") {
    const FakeLoss fake(GradientMode::kernel);
    const LossOp op = bound(fake, false, false);
    const at::Tensor logits = leaf({2, 11}, 1).mul(1.0), kept = logits.detach().clone();
    const at::Tensor loss = op({logits, {}, {}, targets({1, 2})}, {}).loss;
    loss.backward({}, true);
    loss.backward();
    CHECK(logits.detach().equal(kept));
}

TEST_CASE("loss: an observer sees logits that are given up as they were") {
    class Logits final : public runtime::CallObserver {
    public:
        void observe(const runtime::ObservedCall& call) override {
            if (call.pass == runtime::Pass::forward) seen = call.inputs[0].value.clone();
        }
        at::Tensor seen;
    };
    const FakeLoss fake(GradientMode::kernel);
    const LossOp op = bound(fake, false, false);
    const at::Tensor logits = leaf({2, 11}, 1).mul(1.0), kept = logits.detach().clone();
    LossParams params;
    params.may_overwrite_logits = true;
    Logits observer;
    const runtime::ObserveCalls observing(observer);
    op({logits, {}, {}, targets({1, 2})}, params).loss.backward();
    CHECK(observer.seen.equal(kept));
    CHECK(logits.detach().equal(kept));
}

TEST_CASE("loss: calls that do not fit are errors with their values") {
    const FakeLoss fake(GradientMode::kernel, "acme", "ce");
    const LossOp op = bound(fake, true, false);
    LossInputs in{leaf({3, 6}, 1), leaf({11, 6}, 2), {}, targets({1, 2, 3})};
    LossParams params;
    std::string expected;
    SECTION("a label out of range") {
        in.targets = targets({1, 11, 3});
        expected = "targets[1] is 11, expected 0..10 or ignore_index (-100)";
    }
    SECTION("a label out of range, in every other place of a tensor") {
        in.targets = targets({1, 0, 11, 0, 3, 0}).reshape({3, 2}).select(1, 0);
        expected = "targets[1] is 11, expected 0..10 or ignore_index (-100)";
    }
    SECTION("targets") {
        in.targets = targets({1, 2});
        expected = "targets must be int64 [3], one a row of x";
    }
    SECTION("weight") {
        in.weight = leaf({11, 5}, 2);
        expected = "weight must be [classes, 6], the width of x [3, 6], got [11, 5]";
    }
    SECTION("classes") {
        in.weight = leaf({12, 6}, 2);
        expected = "classes is 12, bound for 11";
    }
    SECTION("reduction") {
        params.reduction = Reduction::none;
        expected = "bound for the sum or mean of the rows' losses, called for one a row";
    }
    SECTION("logits given up") {
        params.may_overwrite_logits = true;
        expected = "the logits are given up, bound for calls that keep them";
    }
    SECTION("no projection") {
        in.weight.reset();
        in.x = leaf({3, 11}, 1);
        expected = "bound for a fused projection, called without its weight";
    }
    CHECK_THROWS_WITH(op(in, params),
                      Catch::Matchers::Equals("loss (plugin 'acme', component 'ce'): " + expected));
}

TEST_CASE("loss of values: what does not fit is said before the component is called") {
    const FakeLoss fake(GradientMode::differentiable);
    const auto of = [&](LossKind loss) {
        auto request = std::make_shared<LossRequest>();
        request->rows = {1, 20};
        request->classes = 2;
        request->loss = loss;
        runtime::BindingInfo info;
        info.slot = "loss";
        info.request = request;
        return LossOp(fake.loaded(), info);
    };
    const auto values = [](std::vector<float> list) {
        return at::tensor(list, at::TensorOptions().dtype(at::kFloat)).reshape({-1, 2});
    };
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const at::Tensor x = values({0.0F, 1.0F, 2.0F, 3.0F});
    LossParams squares, chances;
    squares.loss = LossKind::mean_squared_error;
    chances.loss = LossKind::binary_cross_entropy;
    const LossOp squared = of(squares.loss), chance = of(chances.loss);
    CHECK(squared({x, {}, {}, values({1.0F, nan, 2.0F, -5.0F})}, squares).loss.item<float>() ==
          test::Approx((1.0F + 0.0F + 64.0F) / 3.0F));
    CHECK_THROWS_WITH(squared({x, {}, {}, values({1.0F, nan, infinity, 1.0F})}, squares),
                      test::contains("targets[1, 0] is inf, expected a finite number or NaN (no target)"));
    CHECK_THROWS_WITH(chance({x, {}, {}, values({1.0F, 0.0F, 0.5F, 1.5F})}, chances),
                      test::contains("targets[1, 1] is 1.5, expected 0..1 or NaN (no target)"));
    CHECK_THROWS_WITH(chance({x, {}, {}, values({1.0F, 0.0F, 0.5F, 1.5F}).t()}, chances),
                      test::contains("targets[1, 1] is 1.5, expected 0..1 or NaN (no target)"));
    CHECK_THROWS_WITH(squared({x, {}, {}, targets({1, 0})}, squares),
                      test::contains("targets of mean_squared_error must be Float [2, 2], one a value of x"));
    CHECK_THROWS_WITH(squared({x, x, {}, x}, squares),
                      test::contains("mean_squared_error has no projection"));
    CHECK_THROWS_WITH(squared({x, {}, {}, x}, chances),
                      test::contains("bound for mean_squared_error, called for binary_cross_entropy"));
}
