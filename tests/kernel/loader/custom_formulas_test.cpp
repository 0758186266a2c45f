// The examples that bring an activation and losses of their own are right: they compute what LibTorch does,
// and what their papers say.
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/mish_backward.h>
#include <ATen/ops/tensor.h>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/loss.h>
#include "example_component.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

LossRequest loss_request(const std::string& custom) {
    LossRequest request;
    request.dtype = DType::float64;
    request.loss = LossKind::custom;
    request.custom = custom;
    request.value_targets = custom == "huber";
    return request;
}

LossParams own_loss(Reduction reduction) {
    LossParams params;
    params.loss = LossKind::custom;
    params.reduction = reduction;
    return params;
}

Options focal_options(double gamma, double delta = 1.0) {
    Options options;
    options.set("gamma", gamma);
    options.set("delta", delta);
    return options;
}

}  // namespace

TEST_CASE("the example activation is LibTorch's Mish, and so is its gradient") {
    ActivationRequest request;
    request.dtype = DType::float64;
    request.activation = ActivationKind::custom;
    request.custom = "mish";
    const auto mish = make_example<Activation>("mish", request);
    ActivationParams params;
    params.activation = ActivationKind::custom;
    const at::Tensor x = at::linspace(-40.0, 40.0, 1001, at::kDouble),
                     upstream = at::linspace(0.5, 2.0, 1001, at::kDouble);
    Saved saved;
    const at::Tensor y = mish->forward({x, {}}, params, &saved);
    CHECK((y - at::mish(x)).abs().max().item<double>() < 1e-14);
    const at::Tensor grad = mish->backward(params, saved, upstream, {true, false}).x;
    CHECK((grad - at::mish_backward(upstream, x)).abs().max().item<double>() < 1e-14);
}

TEST_CASE("the example loss of values is LibTorch's Huber loss") {
    for (const double delta : {0.5, 1.0, 3.0}) {
        const LossRequest request = loss_request("huber");
        const auto huber = make_example<Loss>("focal", request, focal_options(2.0, delta));
        const at::Tensor x = at::linspace(-5.0, 5.0, 60, at::kDouble).reshape({20, 3}),
                         y = (x * 0.7 - 0.3).contiguous();
        const LossOutputs made = huber->forward({x, {}, {}, y}, own_loss(Reduction::mean), nullptr);
        CHECK((made.loss - at::huber_loss(x, y, at::Reduction::Mean, delta)).abs().item<double>() < 1e-15);
        CHECK(made.count.item<std::int64_t>() == 60);
    }
}

TEST_CASE("the example loss of classes is the focal loss: cross-entropy times (1 - p)^gamma") {
    const at::Tensor x = at::linspace(-4.0, 3.0, 40, at::kDouble).reshape({8, 5}).sin() * 5.0;
    const at::Tensor targets = at::tensor({0, 4, 2, -100, 1, 3, 3, 0}, at::kLong);
    const LossRequest request = loss_request("focal");
    const auto plain = make_example<Loss>("focal", request, focal_options(0.0));
    const auto cross_entropy = at::cross_entropy_loss(x, targets, {}, at::Reduction::Mean, -100, 0.0);
    CHECK((plain->forward({x, {}, {}, targets}, own_loss(Reduction::mean), nullptr).loss - cross_entropy)
              .abs()
              .item<double>() < 1e-14);
    const auto focal = make_example<Loss>("focal", request, focal_options(2.5));
    const at::Tensor each = focal->forward({x, {}, {}, targets}, own_loss(Reduction::none), nullptr).loss;
    const auto p = x.softmax(1);
    for (std::int64_t row = 0; row < 8; ++row) {
        const auto target = targets[row].item<std::int64_t>();
        const double hit = target < 0 ? 1.0 : p[row][target].item<double>();
        CHECK(each[row].item<double>() == Approx(std::pow(1.0 - hit, 2.5) * -std::log(hit)).epsilon(1e-12));
    }
}
