// The policy fp8 as a plugin: every recipe held to its contract, what it keeps between calls and steps, and
// what it says that it ran.
// To add a case of conformance: a list of options.
#include "builtin.h"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>

#include <switchyard/conformance/verify.h>
#include <switchyard/interfaces/precision.h>

#include "product.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

// Everything in float8, whatever its size and place.
Options all_of(const std::string& recipe, const std::string& scale = "tensor") {
    Options options;
    options.set("cpu_reference", true);
    options.set("min_intensity", 0.0);
    options.set("keep_first", std::int64_t{0});
    options.set("keep_last", std::int64_t{0});
    options.set("recipe", recipe);
    options.set("scale", scale);
    options.set("amax_history_length", std::int64_t{3});
    return options;
}

const PrecisionRequest request;

test::Made<Precision> make(const Options& options) {
    return test::make<Precision>("fp8", "fp8", request, "", options);
}

struct Layer {
    LinearSite site{"encoder.1.attention.q", 1, 4};
    at::Tensor weight_OI = at::randn({32, 48}), bias_O = at::randn({32});
};

struct Result {
    at::Tensor y;
    LinearGrads grads;
};

at::Tensor input(std::int64_t number) {
    return at::randn({5, 16, 48}).mul(1.0 + 0.1 * static_cast<double>(number));
}

Result train(Precision& policy, const Layer& layer, const at::Tensor& x) {
    const at::NoGradGuard no_grad;
    Saved saved;
    Result result;
    result.y = policy.linear({x, layer.weight_OI, layer.bias_O}, layer.site, &saved);
    result.grads = policy.linear_backward(layer.site, saved, result.y.mul(0.25), {true, true, true});
    return result;
}

at::Tensor infer(Precision& policy, const Layer& layer, const at::Tensor& x) {
    const at::NoGradGuard no_grad;
    return policy.linear({x, layer.weight_OI, layer.bias_O}, layer.site, nullptr);
}

void step(Precision& policy, const Layer& layer, const at::Tensor& x) {
    policy.begin_step();
    train(policy, layer, x);
    policy.update(false);
    policy.end_step();
}

std::map<std::string, at::Tensor> entries(const Precision& policy) {
    std::map<std::string, at::Tensor> all;
    for (const auto& [key, value] : policy.state().entries) all[key] = value.clone();
    return all;
}

bool same(const std::map<std::string, at::Tensor>& a, const std::map<std::string, at::Tensor>& b) {
    if (a.size() != b.size()) return false;
    return std::all_of(a.begin(), a.end(), [&](const auto& entry) {
        return b.count(entry.first) == 1 && b.at(entry.first).equal(entry.second);
    });
}

}  // namespace

TEST_CASE("every recipe is what the contract says, with all layers in float8") {
    for (const auto& options :
         {all_of("delayed"), all_of("current"), all_of("current", "row"), all_of("blockwise")}) {
        auto loaded = test::component(Kind::precision, "fp8", "fp8");
        Options component = test::default_options(loaded);
        for (const auto& [name, value] : options.values()) component.set(name, value);
        conformance::VerifyOptions verified;
        verified.dtypes = {DType::float32};
        const auto report = conformance::verify(
            {loaded.plugin, loaded.entry, loaded.manifest, &test::laptop(), component, ""}, verified);
        INFO(component.string("recipe") << ", a scale for each " << component.string("scale"));
        std::string faults;
        for (const auto& fault : report.faults) faults += fault.where + ": " + fault.detail + "\n";
        CHECK(faults == "");
        CHECK(report.cases > 60);
    }
}

TEST_CASE("what ran is reported: float8, filled up, and why not") {
    Options options = all_of("current");
    options.set("keep", std::vector<std::string>{"*.out"});
    options.set("min_intensity", 10.0);
    const auto policy = make(options);
    const at::NoGradGuard no_grad;
    const auto call = [&](const char* name, std::int64_t rows, std::int64_t in, std::int64_t out,
                          float first = 1.0F) {
        const at::Tensor x = at::randn({rows, in});
        if (rows > 0) x[0][0] = first;
        policy->linear({x, at::randn({out, in}), {}}, {name, 1, 4}, nullptr);
    };
    call("encoder.1.in", 64, 32, 48);
    call("encoder.1.in", 63, 32, 48);
    call("encoder.1.in", 64, 40, 48);
    call("encoder.1.in", 64, 48, 41);
    call("encoder.1.out", 64, 32, 48);
    call("encoder.1.in", 8, 8, 8);
    call("encoder.1.in", 0, 32, 48);
    call("encoder.1.in", 64, 32, 48, INFINITY);
    const std::map<std::string, std::uint64_t> expected{{"float8", 1},
                                                        {"float8_padded", 3},
                                                        {"bfloat16_kept", 1},
                                                        {"bfloat16_small", 2},
                                                        {"bfloat16_not_finite", 1}};
    CHECK(policy.counter->calls() == expected);
}

TEST_CASE("layers that are kept are bfloat16's") {
    Options options;
    options.set("cpu_reference", true);
    options.set("min_intensity", 0.0);
    const auto policy = make(options);
    Layer layer;
    const at::Tensor x = at::randn({6, 48}).to(at::kBFloat16);
    const auto low = [](const at::Tensor& tensor) { return tensor.to(at::kBFloat16); };
    const at::Tensor y = at::linear(x, low(layer.weight_OI), low(layer.bias_O)), grad = y.mul(0.25);
    for (const char* name : {"encoder.0.attention.q", "encoder.3.feed_forward.in", "pooler"}) {
        layer.site.name = name;
        const auto mine = train(*policy, layer, x);
        CHECK(mine.y.equal(y));
        CHECK(mine.grads.x.equal(grad.matmul(low(layer.weight_OI))));
        CHECK(mine.grads.weight.equal(grad.t().matmul(x).to(at::kFloat)));
        CHECK(mine.grads.bias.equal(grad.sum(0, false, at::kFloat)));
    }
    layer.site.name = "encoder.1.attention.q";
    CHECK_FALSE(train(*policy, layer, x).y.equal(y));
    CHECK(policy->compute(OpClass::linear, "encoder.0") == DType::bfloat16);
    CHECK(policy->compute(OpClass::linear, "encoder.1") == DType::float8_e4m3fn);
    CHECK(policy->compute(OpClass::attention, "encoder.1") == DType::bfloat16);
    CHECK(policy->compute(OpClass::normalization, "encoder.1") == DType::float32);
    CHECK(policy->storage(OpClass::linear, "encoder.1") == DType::float32);
}

TEST_CASE("forward multiplies E4M3 by E4M3, backward E5M2 by E4M3") {
    const auto policy = make(all_of("current"));
    const Layer layer;
    const at::Tensor x = input(0), x_RI = x.reshape({-1, 48});
    const auto result = train(*policy, layer, x);
    const auto tensor = fp8::Grouping::tensor;
    const auto weight = fp8::quantize(layer.weight_OI, fp8::Format::e4m3, tensor);
    const auto inner = fp8::quantize(x_RI, fp8::Format::e4m3, tensor);
    const at::Tensor grad_RO = result.y.mul(0.25).reshape({-1, 32});
    const auto grad = fp8::quantize(grad_RO, fp8::Format::e5m2, tensor);
    CHECK(result.y.equal(at::linear(fp8::decode(inner), fp8::decode(weight))
                             .add(layer.bias_O)
                             .to(at::kBFloat16)
                             .view({5, 16, 32})));
    CHECK(
        result.grads.x.reshape({-1, 48}).allclose(fp8::decode(grad).matmul(fp8::decode(weight)), 1e-5, 1e-5));
    CHECK(result.grads.weight.allclose(fp8::decode(grad).t().matmul(fp8::decode(inner)), 1e-5, 1e-5));
    CHECK(result.grads.bias.equal(grad_RO.sum(0, false, at::kFloat)));
}

TEST_CASE("delayed scaling takes the scales of the steps before, which calls of this step do not change") {
    const auto policy = make(all_of("delayed"));
    const Layer layer;
    const at::Tensor small = at::full({1, 16, 48}, 2.0F), large = at::full({1, 16, 48}, 3.0F);
    step(*policy, layer, small);
    CHECK(entries(*policy).at("scale." + layer.site.name)[0].item<float>() == 224.0F);
    policy->begin_step();
    // 3 * 224 is more than 448: it saturates, and is 2.
    for (int micro_batch = 0; micro_batch < 2; ++micro_batch)
        CHECK(train(*policy, layer, large).y.equal(infer(*policy, layer, small)));
    policy->end_step();
    policy->update(false);
    CHECK(entries(*policy).at("scale." + layer.site.name)[0].item<float>() == Approx(448.0F / 3.0F));
    CHECK_FALSE(infer(*policy, layer, large).equal(infer(*policy, layer, small)));
}

TEST_CASE("recomputation and inference see the scales of the step and leave no trace in the history") {
    const auto policy = make(all_of("delayed")), without = make(all_of("delayed"));
    const Layer layer;
    for (std::int64_t i = 0; i < 3; ++i) {
        const at::Tensor x = input(i);
        step(*without, layer, x);
        policy->begin_step();
        infer(*policy, layer, x.mul(100.0));
        const at::NoGradGuard no_grad;
        Saved first, again;
        const auto y = policy->linear({x, layer.weight_OI, layer.bias_O}, layer.site, &first);
        policy->set_recompute(true);
        CHECK(policy->linear({x, layer.weight_OI, layer.bias_O}, layer.site, &again).equal(y));
        policy->linear({x.mul(50.0), layer.weight_OI.mul(50.0), {}}, layer.site, &first);
        policy->set_recompute(false);
        policy->linear_backward(layer.site, again, y.mul(0.25), {true, true, true});
        policy->update(false);
        policy->end_step();
        CHECK(same(entries(*policy), entries(*without)));
    }
    policy->begin_step();
    infer(*policy, layer, input(9));
    policy->end_step();
    CHECK(same(entries(*policy), entries(*without)));
}

TEST_CASE("a state that is saved and loaded goes on with the same bits") {
    const auto first = make(all_of("delayed")), second = make(all_of("delayed"));
    const Layer layer;
    for (std::int64_t i = 0; i < 4; ++i) step(*first, layer, input(i));
    second->load(first->state());
    CHECK(same(entries(*first), entries(*second)));
    for (std::int64_t i = 4; i < 7; ++i) {
        const at::Tensor x = input(i);
        CHECK(infer(*first, layer, x).equal(infer(*second, layer, x)));
        for (const auto* policy : {&first, &second}) step(**policy, layer, x);
        CHECK(same(entries(*first), entries(*second)));
    }
    CHECK(make(all_of("current"))->state().entries.empty());
}

TEST_CASE("a weight is cast once a step, and again after an in-place change and in the next step") {
    const auto policy = make(all_of("blockwise"));
    const Layer layer;
    const at::Tensor x = input(0);
    policy->begin_step();
    const at::Tensor y = infer(*policy, layer, x);
    auto* value = static_cast<float*>(layer.weight_OI.unsafeGetTensorImpl()->mutable_data());
    for (std::int64_t i = 0; i < layer.weight_OI.numel(); ++i) value[i] *= 3.0F;
    CHECK(infer(*policy, layer, x).equal(y));
    policy->end_step();
    const at::Tensor then = infer(*policy, layer, x);
    CHECK_FALSE(then.equal(y));
    layer.weight_OI.mul_(3.0);
    CHECK_FALSE(infer(*policy, layer, x).equal(then));
}

TEST_CASE("infinity and NaN come out as what they are, and a gradient with one is NaN") {
    for (const std::string recipe : {"delayed", "current", "blockwise"}) {
        INFO(recipe);
        const auto policy = make(all_of(recipe));
        const Layer layer;
        at::Tensor x = input(0);
        x[0][0][0] = INFINITY;
        CHECK(infer(*policy, layer, x)[0][0].isinf().all().item<bool>());
        CHECK(infer(*policy, layer, x).isfinite().sum().item<std::int64_t>() == 79 * 32);
        const at::NoGradGuard no_grad;
        Saved saved;
        at::Tensor grad = policy->linear({input(1), layer.weight_OI, {}}, layer.site, &saved).clone();
        grad[4][3][2] = INFINITY;
        const auto grads = policy->linear_backward(layer.site, saved, grad, {true, true, false});
        CHECK(grads.x.isnan().any().item<bool>());
        CHECK(grads.weight.isnan().any().item<bool>());
        policy->update(true);
        for (const auto& [key, value] : entries(*policy)) CHECK(value.isfinite().all().item<bool>());
    }
}
