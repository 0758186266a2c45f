// Linear layers: casts once a step, prepared weights, operands that a policy scales, gradients in every mode.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scalar_tensor.h>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/reference/linear.h>
#include <switchyard/reference/quantized_weight.h>
#include "core/kernel/runtime/operations/linear_op.h"

#include "compare_gradients.h"
#include "tests/kernel/runtime/fake_component.h"

#include <switchyard_test.h>

using namespace switchyard;
using runtime::LinearContext;
using runtime::LinearOp;
using switchyard::test::FakeComponent;
using switchyard::test::leaf;

namespace {

// What the component below was given, for the tests to look at.
struct Seen {
    int prepared = 0;
    bool for_gradient = false;
    std::vector<const void*> x;        // where it lay in each forward
    std::vector<const void*> weights;  // where the values lay in each call; nullptr: there were none
    at::ScalarType bias = at::kDouble;
} seen;

enum class Prepares { nothing, copy, instead };
Prepares prepares = Prepares::nothing;
const char* form_name = nullptr;

class Plain final : public Linear {
public:
    using Linear::Linear;

    at::Tensor forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) override {
        executed();
        seen.x.push_back(x.values.const_data_ptr());
        if (bias.defined()) seen.bias = bias.scalar_type();
        return reference::linear(reference::unscaled(x), weight_of(weight), bias);
    }
    at::Tensor input_gradient(const LinearOperand& grad, const LinearWeight& weight) override {
        const at::Tensor weight_OI = grad.scaled() ? weight_of(weight).t() : weight_of(weight);
        return at::mm(reference::unscaled(grad), weight_OI);
    }
    at::Tensor weight_gradient(const LinearOperand& grad, const LinearOperand& x) override {
        if (grad.scaled()) return at::mm(reference::unscaled(grad), reference::unscaled(x).t());
        return at::mm(grad.values.t(), x.values);
    }
    PreparedWeight prepare(const at::Tensor& weight_OI, bool for_gradient) override {
        if (prepares == Prepares::nothing) return {};
        ++seen.prepared;
        seen.for_gradient = for_gradient;
        return {std::make_shared<const at::Tensor>(weight_OI.clone()), 8 * weight_OI.numel(),
                prepares == Prepares::instead};
    }
    PreparedWeight prepare_quantized(const QuantizedWeight& weight) override {
        ++seen.prepared;
        const at::Tensor meant = reference::dequantized(weight);
        return {std::make_shared<const at::Tensor>(meant), 4 * meant.numel(), true};
    }
    void* query(std::string_view id) override {
        return component_property(id, {{weight_form_property, form_name}});
    }

private:
    static at::Tensor weight_of(const LinearWeight& weight) {
        seen.weights.push_back(weight.operand.values.defined() ? weight.operand.values.const_data_ptr()
                                                               : nullptr);
        if (weight.prepared != nullptr) return *static_cast<const at::Tensor*>(weight.prepared->form.get());
        return reference::unscaled(weight.operand);
    }
};

// Doubles everything, in float32, and says so in the scale: exact, and wrong wherever a scale is forgotten.
class Doubling final : public Precision {
public:
    using Precision::Precision;

    DType storage(OpClass, const std::string&) const override { return DType::float64; }
    DType compute(OpClass, const std::string&) const override { return DType::float8_e4m3fn; }
    bool quantize(const LinearInputs& in, const LinearSite& site, bool for_gradient,
                  QuantizedInputs& made) override {
        executed();
        if (site.layer != 0) return false;
        made.x = doubled(in.x.reshape({-1, in.x.size(-1)}));
        made.weight = doubled(in.weight);
        if (for_gradient) made.kept_x = made.x;
        return true;
    }
    QuantizedGradients quantize_gradient(const at::Tensor& grad_RO, const at::Tensor& weight_OI,
                                         const LinearOperand& kept_x, const LinearSite&,
                                         const LinearNeeds&) override {
        return {doubled(grad_RO),
                doubled(weight_OI.t()),
                doubled(grad_RO.t()),
                {kept_x.values.t(), kept_x.inverse_scale}};
    }

private:
    static LinearOperand doubled(const at::Tensor& x) {
        return {x.detach().to(at::kFloat) * 2.0, at::scalar_tensor(0.5, at::kFloat)};
    }
};

using FakeLinear = FakeComponent<Linear, Plain>;
using FakePrecision = FakeComponent<Precision, Doubling>;

std::shared_ptr<LinearRequest> request_of(DType dtype, WeightFormat format = WeightFormat::dense) {
    auto request = std::make_shared<LinearRequest>();
    request->dtype = format == WeightFormat::scaled ? DType::float8_e4m3fn : dtype;
    request->weight_dtype = request->dtype;
    request->output_dtype = dtype;
    request->weight_format = format;
    request->needs_grad = true;
    request->bias = true;
    request->rows = Range(0, 6);
    request->in = 5;
    request->out = 4;
    return request;
}

LinearOp bound(const FakeLinear& fake, const std::shared_ptr<const Request>& request) {
    seen = {};
    runtime::BindingInfo info;
    info.slot = "linear.attention.q";
    info.request = request;
    return LinearOp(fake.loaded(), info);
}

LinearContext context(std::int64_t layer = 0) {
    return {std::make_shared<const LinearSite>(LinearSite{"encoder.0.attention.q", layer, 2}),
            std::make_shared<runtime::StepWeights>(), nullptr};
}

std::shared_ptr<const runtime::PrecisionOp> doubling(const FakePrecision& fake) {
    runtime::BindingInfo info;
    info.slot = "precision";
    info.request = std::make_shared<PrecisionRequest>();
    return std::make_shared<const runtime::PrecisionOp>(fake.loaded(), info);
}

test::Difference difference_of(const LinearOp& linear, const LinearContext& at) {
    return test::compare(
        [&](const auto& i) {
            return std::vector<at::Tensor>{linear({i[0], i[1], i[2]}, at).to(at::kDouble)};
        },
        [&](const auto& i) { return std::vector<at::Tensor>{reference::linear(i[0], i[1], i[2])}; },
        {leaf({2, 3, 5}, 1), leaf({4, 5}, 2), leaf({4}, 3)});
}

}  // namespace

TEST_CASE("a linear layer has the reference's gradients, whoever differentiates it") {
    const auto mode = GENERATE(GradientMode::kernel, GradientMode::differentiable, GradientMode::recompute);
    const FakeLinear fake(mode);
    const LinearOp linear = bound(fake, request_of(DType::float64));
    const auto difference = difference_of(linear, context());
    CHECK(difference.outputs == 0.0);
    CHECK(difference.gradients < 1e-13);
    CHECK(linear.binding().executed().calls() == std::map<std::string, std::uint64_t>{{"", 1}});
}

TEST_CASE("x and parameters are cast, and gradients come in their dtypes") {
    const auto mode = GENERATE(GradientMode::kernel, GradientMode::differentiable);
    const FakeLinear fake(mode);
    const LinearOp linear = bound(fake, request_of(DType::bfloat16));
    const at::Tensor x = leaf({3, 5}, 1).detach().to(at::kFloat).requires_grad_();
    const at::Tensor weight = leaf({4, 5}, 2), bias = leaf({4}, 3);
    const at::Tensor y = linear({x, weight, bias}, context());
    CHECK(y.scalar_type() == at::kBFloat16);
    CHECK(seen.bias == at::kBFloat16);
    CHECK(y.to(at::kDouble).allclose(reference::linear(x.to(at::kDouble), weight, bias), 0.02, 0.02));
    y.sum().backward();
    CHECK(x.grad().scalar_type() == at::kFloat);
    CHECK(weight.grad().scalar_type() == at::kDouble);
    CHECK(bias.grad().scalar_type() == at::kDouble);
    CHECK(bias.grad().equal(at::ones_like(bias) * 3.0));
}

TEST_CASE("weights are cast once a step, and again when they change") {
    const FakeLinear fake(GradientMode::kernel);
    const LinearOp linear = bound(fake, request_of(DType::float32));
    const LinearContext at = context();
    const at::Tensor x = leaf({3, 5}, 1), weight = leaf({4, 5}, 2);
    const auto call = [&] { return linear({x, weight, {}}, at); };
    call().sum().backward();
    call();
    REQUIRE(seen.weights.size() == 3);
    CHECK(seen.weights[0] != weight.const_data_ptr());
    CHECK((seen.weights[1] == seen.weights[0] && seen.weights[2] == seen.weights[0]));
    const at::NoGradGuard no_grad;
    const auto doubled = call() * 2.0;
    weight.mul_(2.0);
    CHECK(call().equal(doubled));
    weight.variable_data().mul_(2.0);  // past autograd's version counter, as an optimizer's kernel writes
    CHECK(call().equal(doubled));
    at.weights->forget();
    CHECK(call().equal(doubled * 2.0));
}

TEST_CASE("what several layers read is cast once while one of them keeps it, and again when it changes") {
    const FakeLinear fake(GradientMode::kernel);
    const LinearOp linear = bound(fake, request_of(DType::float32));
    const LinearContext at = context();
    at::Tensor x = leaf({3, 5}, 1).detach();
    const at::Tensor weight = leaf({4, 5}, 2);
    const at::Tensor q = linear({x, weight, {}}, at), k = linear({x, weight, {}}, at);
    REQUIRE(seen.x.size() == 2);
    CHECK(seen.x[0] == seen.x[1]);
    CHECK(q.equal(k));
    (q.sum() + k.sum()).backward();
    const at::Tensor expected = 2.0 * x.sum(0).expand({4, 5});
    CHECK(weight.grad().allclose(expected, 1e-6));

    const at::Tensor before = linear({x, weight, {}}, at);
    x.mul_(2.0);
    CHECK(linear({x, weight, {}}, at).allclose(before * 2.0, 1e-6));
    const at::Tensor same_values = x.clone();
    const at::Tensor kept = linear({x, weight, {}}, at);
    CHECK(linear({same_values, weight, {}}, at).equal(kept));
    CHECK(seen.x.back() != seen.x[seen.x.size() - 2]);
}

TEST_CASE("a prepared weight serves forward and backward, once a step") {
    prepares = GENERATE(Prepares::copy, Prepares::instead);
    const FakeLinear fake(GradientMode::kernel);
    const LinearOp linear = bound(fake, request_of(DType::float64));
    const LinearContext at = context();
    const auto difference = difference_of(linear, at);
    CHECK(difference.outputs == 0.0);
    CHECK(difference.gradients < 1e-13);
    CHECK(seen.prepared == 1);
    CHECK(seen.for_gradient);
    for (const void* values : seen.weights) CHECK((values == nullptr) == (prepares == Prepares::instead));
    at.weights->forget();
    difference_of(linear, at);
    CHECK(seen.prepared == 2);
    prepares = Prepares::nothing;
}

TEST_CASE("what a policy quantizes is multiplied with its scales, and what it leaves is dense") {
    const FakePrecision policy(GradientMode::none);
    const FakeLinear fake(GradientMode::kernel);
    const auto request = request_of(DType::float32, WeightFormat::scaled);
    const LinearOp linear = bound(fake, request);
    const std::int64_t layer = GENERATE(0, 1);
    LinearContext at = context(layer);
    at.policy = doubling(policy);
    const auto difference = difference_of(linear, at);
    CHECK(difference.outputs < 1e-6);
    CHECK(difference.gradients < 1e-6);
    CHECK(at.policy->binding().executed().calls() == std::map<std::string, std::uint64_t>{{"", 1}});
}

TEST_CASE("a quantized weight is prepared once, and calls come with its form alone") {
    const FakeLinear fake(GradientMode::none);
    const auto request = request_of(DType::float32, WeightFormat::quantized);
    request->needs_grad = false;
    const LinearOp linear = bound(fake, request);
    LinearContext at = context();
    const at::Tensor weight = leaf({4, 5}, 2).detach().to(at::kFloat), bias = leaf({4}, 3).detach();
    const auto quantized = std::make_shared<QuantizedWeight>(reference::quantized(weight, {8, 0}));
    at.quantized = quantized;
    const at::Tensor meant = reference::dequantized(*quantized);
    const at::Tensor x = leaf({2, 3, 5}, 1).detach();
    CHECK(linear.settle({}, at));
    quantized->values.reset();
    for (int call = 0; call < 2; ++call) {
        const at::Tensor y = linear({x, {}, bias}, at);
        CHECK(y.allclose(reference::linear(x.to(at::kFloat), meant, bias)));
    }
    CHECK(seen.prepared == 1);
    CHECK(seen.bias == at::kFloat);
    for (const void* values : seen.weights) CHECK(values == nullptr);
    const auto refused = [&](const LinearInputs& inputs, const LinearContext& in) {
        try {
            linear(inputs, in);
        } catch (const std::invalid_argument& error) {
            return std::string(error.what());
        }
        return std::string("nothing");
    };
    using switchyard::test::contains;
    CHECK_THAT(refused({x, weight, {}}, at),
               contains("encoder.0.attention.q: a quantized weight comes alone"));
    CHECK_THAT(refused({x, {}, {}}, context()), contains("the quantized weight is missing"));
}

TEST_CASE("a weight that is settled is not read again, by no binding that has the same form") {
    prepares = Prepares::instead;
    form_name = GENERATE(static_cast<const char*>("int8"), static_cast<const char*>(nullptr));
    const FakeLinear fake(GradientMode::none);
    const auto request = request_of(DType::float64);
    request->needs_grad = false;
    const LinearOp prefill = bound(fake, request), decode = bound(fake, request);
    const LinearContext at = context();
    const at::Tensor x = leaf({3, 5}, 1).detach(), weight = leaf({4, 5}, 2).detach();
    const at::Tensor expected = reference::linear(x, weight, {});
    CHECK(prefill.settle(weight, at));
    CHECK(decode.settle(weight, at));
    CHECK(seen.prepared == (form_name == nullptr ? 2 : 1));
    CHECK(seen.for_gradient == false);
    weight.fill_(0.0);
    at.weights->forget();
    CHECK(prefill({x, weight, {}}, at).equal(expected));
    CHECK(decode({x, weight, {}}, at).equal(expected));
    prepares = Prepares::copy;
    CHECK_FALSE(bound(fake, request).settle(leaf({4, 5}, 3).detach(), context()));
    prepares = Prepares::nothing;
    form_name = nullptr;
}

TEST_CASE("linear layers that do not fit are named") {
    const FakeLinear fake(GradientMode::kernel, "acme", "plain");
    const LinearOp linear = bound(fake, request_of(DType::float64));
    const std::string who = "linear.attention.q (plugin 'acme', component 'plain'): ";
    const auto refused = [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
        try {
            linear({x, weight, bias}, context());
        } catch (const std::invalid_argument& error) {
            return std::string(error.what());
        }
        return std::string("nothing");
    };
    CHECK(refused(leaf({2, 3}, 1), leaf({4, 5}, 2), {}) ==
          who + "encoder.0.attention.q: weight [4, 5] does not fit x [2, 3]");
    CHECK(refused(leaf({2, 5}, 1), leaf({3, 5}, 2), {}) ==
          who + "encoder.0.attention.q: weight is [3, 5], bound for [4, 5]");
    CHECK(refused(leaf({2, 5}, 1), leaf({4, 5}, 2), leaf({5}, 3)) ==
          who + "encoder.0.attention.q: bias must be [4], got [5]");
    CHECK(refused(leaf({7, 5}, 1), leaf({4, 5}, 2), {}) == who + "rows is 7, bound for 0..6");
}
