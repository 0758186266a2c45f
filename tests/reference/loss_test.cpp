// The references of losses against PyTorch's results (tests/fixtures; of losses of values, LibTorch's own
// kernels) and finite differences. To add a case: add it to loss() in tests/fixtures/make_fixtures.py.
#include <cmath>
#include <limits>

#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/tensor.h>

#include <switchyard/conformance/differentiate.h>
#include <switchyard/reference/loss.h>

#include "check.h"
#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::difference;

namespace {

Reduction reduction(const std::string& name) {
    return name == "mean" ? Reduction::mean : name == "sum" ? Reduction::sum : Reduction::none;
}

at::Tensor targets(std::initializer_list<std::int64_t> values) {
    at::Tensor tensor =
        at::full({static_cast<std::int64_t>(values.size())}, 0, at::TensorOptions().dtype(at::kLong));
    std::int64_t i = 0;
    for (const std::int64_t value : values) tensor[i++].fill_(value);
    return tensor;
}

}  // namespace

TEST_CASE("loss agrees with PyTorch in values and gradients") {
    for (const auto& c : test::load_fixture("loss")) {
        INFO(c.name);
        const std::string projection = c.numbers.at("projection");
        LossParams params;
        params.reduction = reduction(c.numbers.at("reduction"));
        params.label_smoothing = c.numbers.at("label_smoothing");
        params.z_loss = c.numbers.at("z_loss");
        const LossInputs in{conformance::leaf(projection.empty() ? c["logits"] : c["hidden"]),
                            projection.empty() ? at::Tensor() : conformance::leaf(c["weight"]),
                            projection == "projection+bias" ? conformance::leaf(c["bias"]) : at::Tensor(),
                            c[c.numbers.at("targets")]};
        const LossOutputs out = reference::loss(in, params);
        CHECK(difference(out.loss, c["loss"]) < 1e-14);
        CHECK(out.count.item<std::int64_t>() == (c.numbers.at("targets") == "targets" ? 4 : 0));
        const auto grads = conformance::differentiate(
            {out.loss}, {params.reduction == Reduction::none ? c["grad_rows"] : c["grad_scalar"]},
            {in.x, in.weight, in.bias});
        const char* names[] = {"grad_x", "grad_weight", "grad_bias"};
        for (std::size_t i = 0; i < grads.size(); ++i) {
            INFO(names[i]);
            CHECK(grads[i].defined() == c[names[i]].defined());
            if (grads[i].defined()) CHECK(difference(grads[i], c[names[i]]) < 1e-13);
        }
    }
}

TEST_CASE("loss's gradients agree with finite differences") {
    LossParams params;
    params.label_smoothing = 0.2;
    params.z_loss = 0.05;
    params.reduction = Reduction::sum;
    params.divisor = 7.0;
    const auto function = [&](const std::vector<at::Tensor>& x) -> std::vector<at::Tensor> {
        return {reference::loss({x[0], x[1], x[2], targets({1, 0, -100, 4})}, params).loss};
    };
    CHECK(test::gradient_error(
              function, {test::normal({4, 3}, 1), test::normal({5, 3}, 2), test::normal({5}, 3)}) < 1e-8);
}

TEST_CASE("a divisor divides the sum, and not the mean") {
    const LossInputs in{test::normal({3, 5}, 1), {}, {}, targets({0, 1, 2})};
    LossParams params;
    params.reduction = Reduction::sum;
    const double sum = reference::loss(in, params).loss.item<double>();
    params.divisor = 4.0;
    CHECK(reference::loss(in, params).loss.item<double>() == test::Approx(sum / 4.0));
    params.reduction = Reduction::mean;
    CHECK(reference::loss(in, params).loss.item<double>() == test::Approx(sum / 3.0));
}

TEST_CASE("rows that are ignored are not read, and no row at all gives zero") {
    at::Tensor x = test::normal({3, 5}, 1);
    x[1].fill_(std::numeric_limits<double>::quiet_NaN());
    const at::Tensor logits = conformance::leaf(x);
    const LossOutputs out = reference::loss({logits, {}, {}, targets({0, 7, 2})}, {.ignore_index = 7});
    CHECK(out.count.item<std::int64_t>() == 2);
    const auto grads = conformance::differentiate({out.loss}, {at::full({}, 1.0, x.options())}, {logits});
    CHECK(grads[0].isfinite().all().item<bool>());
    CHECK(grads[0][1].abs().sum().item<double>() == 0.0);

    const LossOutputs none = reference::loss({test::normal({0, 5}, 1), {}, {}, targets({})}, {});
    CHECK(none.loss.item<double>() == 0.0);
    CHECK(none.count.item<std::int64_t>() == 0);
}

TEST_CASE("16-bit logits give a float32 loss") {
    const at::Tensor x = test::normal({64, 33}, 1).to(at::kBFloat16);
    const at::Tensor target = at::full({64}, 3, at::TensorOptions().dtype(at::kLong));
    const LossOutputs low = reference::loss({x, {}, {}, target}, {});
    CHECK(low.loss.scalar_type() == at::kFloat);
    CHECK(difference(low.loss, reference::loss({x.to(at::kDouble), {}, {}, target}, {}).loss) < 1e-6);
}

TEST_CASE("loss says what does not fit") {
    const at::Tensor x = test::normal({3, 5}, 1);
    CHECK_THROWS_WITH(reference::loss({x, {}, {}, targets({0, 1})}, {}),
                      "loss: targets must be [3], one a row of x, got [2]");
    CHECK_THROWS_WITH(reference::loss({x, test::normal({7, 4}, 1), {}, targets({0, 1, 2})}, {}),
                      "loss: weight must be [classes, 5], the width of x, got [7, 4]");
    CHECK_THROWS_WITH(reference::loss({x, {}, test::normal({5}, 1), targets({0, 1, 2})}, {}),
                      "loss: bias must be [classes] of the weight, got [5]");
}

namespace {

constexpr double no_target = std::numeric_limits<double>::quiet_NaN();

LossParams of_values(LossKind loss, Reduction reduction = Reduction::mean) {
    LossParams params;
    params.loss = loss;
    params.reduction = reduction;
    return params;
}

// LibTorch's own, of values that all have a target.
at::Tensor by_libtorch(LossKind loss, const at::Tensor& x, const at::Tensor& y, std::int64_t reduction) {
    if (loss == LossKind::mean_squared_error) return at::mse_loss(x, y, reduction);
    return at::binary_cross_entropy_with_logits(x, y, {}, {}, reduction);
}

}  // namespace

TEST_CASE("losses of values agree with LibTorch's in values and gradients") {
    const auto loss = GENERATE(LossKind::mean_squared_error, LossKind::binary_cross_entropy);
    const at::Tensor y = test::normal({7, 3}, 2).sigmoid();
    for (const auto reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
        const auto theirs = reduction == Reduction::mean  ? at::Reduction::Mean
                            : reduction == Reduction::sum ? at::Reduction::Sum
                                                          : at::Reduction::None;
        const at::Tensor x = conformance::leaf(test::normal({7, 3}, 1) * 4.0);
        const at::Tensor other = conformance::leaf(x.detach());
        const LossOutputs out = reference::loss({x, {}, {}, y}, of_values(loss, reduction));
        at::Tensor expected = by_libtorch(loss, other, y, theirs);
        if (reduction == Reduction::none) expected = expected.sum(1);
        CHECK(difference(out.loss, expected) < 1e-14);
        CHECK(out.count.item<std::int64_t>() == 21);
        const at::Tensor grad = test::normal(out.loss.sizes().vec(), 3);
        CHECK(difference(conformance::differentiate({out.loss}, {grad}, {x})[0],
                         conformance::differentiate({expected}, {grad}, {other})[0]) < 1e-14);
    }
}

TEST_CASE("losses of values have gradients that agree with finite differences, at 0 too") {
    const auto loss = GENERATE(LossKind::mean_squared_error, LossKind::binary_cross_entropy);
    const at::Tensor y = at::tensor({0.0, 1.0, 0.25, 0.5, 1.0, 0.0}, at::kDouble).reshape({3, 2});
    const auto function = [&](const std::vector<at::Tensor>& x) -> std::vector<at::Tensor> {
        return {reference::loss({x[0], {}, {}, y}, of_values(loss, Reduction::none)).loss};
    };
    CHECK(test::gradient_error(function, {test::normal({3, 2}, 1)}) < 1e-8);
    CHECK(test::gradient_error(function, {at::full({3, 2}, 0.0, at::kDouble)}) < 1e-8);
}

TEST_CASE("binary cross-entropy of large logits is neither infinite nor zero where it is wrong") {
    const at::Tensor x = at::tensor({-800.0, 800.0, -800.0, 800.0}, at::kDouble).reshape({1, 4});
    const at::Tensor y = at::tensor({1.0, 0.0, 0.0, 1.0}, at::kDouble).reshape({1, 4});
    const auto loss = of_values(LossKind::binary_cross_entropy, Reduction::sum);
    CHECK(reference::loss({x, {}, {}, y}, loss).loss.item<double>() == 1600.0);
    // What is nearly right costs e^-50, which rounding of the terms does not take away.
    const at::Tensor right = at::tensor({-50.0, 50.0}, at::kDouble).reshape({1, 2});
    CHECK(reference::loss({right, {}, {}, y.narrow(1, 2, 2)}, loss).loss.item<double>() ==
          test::Approx(2.0 * std::exp(-50.0)).epsilon(1e-12));
}

TEST_CASE("values without a target count nothing and are not read") {
    const auto loss = GENERATE(LossKind::mean_squared_error, LossKind::binary_cross_entropy);
    const at::Tensor y =
        at::tensor({1.0, no_target, 0.0, no_target, no_target, 1.0}, at::kDouble).reshape({3, 2});
    at::Tensor values = test::normal({3, 2}, 1);
    values[0][1].fill_(no_target);
    const at::Tensor x = conformance::leaf(values);
    const LossOutputs out = reference::loss({x, {}, {}, y}, of_values(loss));
    const auto with_target = [](const at::Tensor& t) {
        return at::tensor({t[0][0].item<double>(), t[1][0].item<double>(), t[2][1].item<double>()},
                          at::kDouble);
    };
    CHECK(difference(out.loss, by_libtorch(loss, with_target(values), with_target(y), at::Reduction::Mean)) <
          1e-15);
    CHECK(out.count.item<std::int64_t>() == 3);
    const auto grad = conformance::differentiate({out.loss}, {at::full({}, 1.0, x.options())}, {x})[0];
    CHECK(grad.isfinite().all().item<bool>());
    CHECK(grad.ne(0.0).sum().item<std::int64_t>() == 3);
    CHECK(grad[0][1].item<double>() == 0.0);

    const LossOutputs none =
        reference::loss({x, {}, {}, at::full({3, 2}, no_target, at::kDouble)}, of_values(loss));
    CHECK(none.loss.item<double>() == 0.0);
    CHECK(none.count.item<std::int64_t>() == 0);
}

TEST_CASE("losses of values say what does not fit") {
    const auto loss = of_values(LossKind::mean_squared_error);
    const at::Tensor x = test::normal({3, 2}, 1);
    CHECK_THROWS_WITH(reference::loss({x, {}, {}, test::normal({3}, 1)}, loss),
                      "loss: targets must be [3, 2], one a value of x");
    CHECK_THROWS_WITH(reference::loss({x, {}, {}, at::full({3, 2}, 1, at::kLong)}, loss),
                      "loss: targets of mean_squared_error must be floating numbers, got Long");
    CHECK_THROWS_WITH(reference::loss({x, test::normal({2, 2}, 1), {}, x}, loss),
                      "loss: mean_squared_error has no projection");
    auto smoothed = loss;
    smoothed.label_smoothing = 0.1;
    CHECK_THROWS_WITH(reference::loss({x, {}, {}, x}, smoothed),
                      "loss: mean_squared_error has neither label smoothing nor z-loss");
}
