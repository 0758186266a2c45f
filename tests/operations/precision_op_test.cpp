// A precision policy and the linear layers that go through it.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <switchyard/reference/linear.h>
#include "core/kernel/runtime/operations/precision_op.h"

#include "../host_calling/fake_component.h"
#include "compare_gradients.h"

#include <switchyard_test.h>

using namespace switchyard;
using model::PrecisionOp;
using switchyard::test::FakeComponent;
using switchyard::test::leaf;

namespace {

// Float64 throughout, with a backward of its own; a loss scale that falls when something overflowed.
class Doubles final : public Precision {
public:
    using Precision::Precision;

    DType storage(OpClass, const std::string&) const override { return DType::float64; }
    DType compute(OpClass op, const std::string& layer) const override {
        if (layer == "nowhere") throw 3;
        return op == OpClass::loss ? DType::float32 : DType::float64;
    }
    at::Tensor linear(const LinearInputs& in, const LinearSite& site, Saved* saved) override {
        executed(site.layer == 0 ? "first" : "rest");
        if (saved != nullptr) {
            saved->input(in.x);
            saved->input(in.weight);
        }
        return reference::linear(in.x, in.weight, in.bias);
    }
    LinearGrads linear_backward(const LinearSite&, const Saved& saved, const at::Tensor& grad_y,
                                const LinearNeeds& needs) override {
        const at::Tensor grad = grad_y.reshape({-1, grad_y.size(-1)});
        LinearGrads made;
        if (needs.x) made.x = grad_y.matmul(saved[1]);
        if (needs.weight) made.weight = grad.t().matmul(saved[0].reshape({-1, saved[0].size(-1)}));
        if (needs.bias) made.bias = grad.sum(0);
        return made;
    }
    double loss_scale() const override { return scale_; }
    void update(bool found_inf) override { scale_ = found_inf ? scale_ / 2 : scale_; }

private:
    double scale_ = 8.0;
};

using FakePrecision = FakeComponent<Precision, Doubles>;

PrecisionOp bound(const FakePrecision& fake) {
    auto request = std::make_shared<PrecisionRequest>();
    request->dtype = DType::float64;
    request->needs_grad = true;
    host::BindingInfo info;
    info.slot = "precision";
    info.request = request;
    return PrecisionOp(fake.loaded(), info);
}

const auto site = std::make_shared<const LinearSite>(LinearSite{"encoder.0.attention.q", 0, 2});

}  // namespace

TEST_CASE("a linear layer through the policy has the reference's gradients") {
    const auto mode = GENERATE(GradientMode::kernel, GradientMode::differentiable, GradientMode::recompute);
    const FakePrecision fake(mode);
    const PrecisionOp policy = bound(fake);
    const auto difference = test::compare(
        [&](const auto& i) {
            return std::vector<at::Tensor>{policy.linear({i[0], i[1], i[2]}, site)};
        },
        [&](const auto& i) { return std::vector<at::Tensor>{reference::linear(i[0], i[1], i[2])}; },
        {leaf({2, 3, 5}, 1), leaf({4, 5}, 2), leaf({4}, 3)});
    CHECK(difference.outputs == 0.0);
    CHECK(difference.gradients < 1e-13);
    CHECK(policy.binding().executed().calls() == std::map<std::string, std::uint64_t>{{"first", 1}});
}

TEST_CASE("the policy answers through the guard") {
    const FakePrecision fake(GradientMode::kernel, "acme", "doubles");
    const PrecisionOp policy = bound(fake);
    CHECK(policy.storage(OpClass::linear, "encoder.0") == DType::float64);
    CHECK(policy.compute(OpClass::loss, "model") == DType::float32);
    CHECK_THROWS_WITH(
        policy.compute(OpClass::loss, "nowhere"),
        Catch::Matchers::Equals("plugin 'acme', component 'doubles', precision.compute: threw the int 3"));
    CHECK(policy.loss_scale() == 8.0);
    policy.begin_step();
    policy.update(true);
    policy.end_step();
    CHECK(policy.loss_scale() == 4.0);
    CHECK(policy.state().entries.empty());
}

TEST_CASE("linear layers that do not fit are named") {
    const FakePrecision fake(GradientMode::kernel, "acme", "doubles");
    const PrecisionOp policy = bound(fake);
    CHECK_THROWS_WITH(
        policy.linear({leaf({2, 3}, 1), leaf({4, 5}, 2), {}}, site),
        Catch::Matchers::Equals(
            "precision (plugin 'acme', component 'doubles'): encoder.0.attention.q: weight [4, 5] does "
            "not fit x [2, 3]"));
    CHECK_THROWS_WITH(policy.linear({leaf({2, 5}, 1), leaf({4, 5}, 2), leaf({5}, 3)}, site),
                      test::contains("encoder.0.attention.q: bias must be [4], got [5]"));
}
