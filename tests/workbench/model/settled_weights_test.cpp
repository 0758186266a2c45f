// Weights that components have forms of their own of: let go where nothing reads them any more, and only
// there.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>

#include <switchyard/reference/linear.h>
#include "core/workbench/model/settled_weights.h"

#include "tests/kernel/runtime/fake_component.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

bool replaces = true;

class Keeping final : public Linear {
public:
    using Linear::Linear;

    at::Tensor forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) override {
        executed();
        const at::Tensor weight_OI = weight.prepared == nullptr
                                         ? weight.operand.values
                                         : *static_cast<const at::Tensor*>(weight.prepared->form.get());
        return reference::linear(x.values, weight_OI, bias);
    }
    PreparedWeight prepare(const at::Tensor& weight_OI, bool) override {
        const auto form = std::make_shared<const at::Tensor>(weight_OI.clone());
        return {form, static_cast<std::int64_t>(form->nbytes()), replaces};
    }
};

using FakeLinear = test::FakeComponent<Linear, Keeping>;

model::Linear layer(const FakeLinear& fake) {
    auto request = std::make_shared<LinearRequest>();
    request->rows = Range(0, 8);
    request->in = 6;
    request->out = 5;
    runtime::BindingInfo info;
    info.slot = "linear.attention.q";
    info.request = request;
    model::Linear made;
    made.weight = at::randn({5, 6});
    made.owns_weight = true;
    made.context = {std::make_shared<const LinearSite>(LinearSite{"decoder.0.attention.q", 0, 1}),
                    std::make_shared<runtime::StepWeights>(), nullptr};
    for (const Phase phase : {Phase::prefill, Phase::decode})
        made.operation.set(phase, std::make_shared<const runtime::LinearOp>(fake.loaded(), info));
    return made;
}

}  // namespace

TEST_CASE("a weight whose every phase has a form in its place is let go, and the layer computes the same") {
    const at::NoGradGuard no_grad;
    const FakeLinear fake(GradientMode::none);
    replaces = true;
    const model::Linear linear = layer(fake);
    const at::Tensor x = at::randn({3, 6}), expected = reference::linear(x, linear.weight, {});
    CHECK(model::settle_weights({linear}) == 5 * 6 * 4);
    CHECK(linear.weight.storage().nbytes() == 0);
    CHECK(linear.weight.sizes() == at::IntArrayRef({5, 6}));
    CHECK(linear(Phase::prefill, x).equal(expected));
    CHECK(linear(Phase::decode, x).equal(expected));
}

TEST_CASE("a weight that others read, or that a form stands beside, stays") {
    const at::NoGradGuard no_grad;
    const FakeLinear fake(GradientMode::none);
    for (const bool owned : {true, false}) {
        replaces = !owned;
        model::Linear linear = layer(fake);
        linear.owns_weight = owned;
        const at::Tensor x = at::randn({3, 6}), expected = reference::linear(x, linear.weight, {});
        CHECK(model::settle_weights({linear}) == 0);
        CHECK(linear.weight.storage().nbytes() == 5 * 6 * 4);
        CHECK(linear(Phase::decode, x).equal(expected));
    }
}
