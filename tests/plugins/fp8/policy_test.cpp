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
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/precision.h>
#include <switchyard/reference/linear.h>

#include "float8.h"

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

const LinearRequest linear_request = [] {
    LinearRequest made;
    made.dtype = made.weight_dtype = DType::float8_e4m3fn;
    made.output_dtype = DType::bfloat16;
    made.weight_format = WeightFormat::scaled;
    made.needs_grad = made.bias = true;
    made.rows = {0, 1024};
    return made;
}();

// The policy, and what multiplies its operands.
struct Fp8 {
    test::Made<Precision> policy;
    test::Made<Linear> linear = test::make<Linear>("fp8", "scaled", linear_request);
    Precision* operator->() const { return &*policy; }
    Precision& operator*() const { return *policy; }
};

Fp8 make(const Options& options) { return {test::make<Precision>("fp8", "fp8", request, "", options)}; }

struct Layer {
    LinearSite site{"encoder.1.attention.q", 1, 4};
    at::Tensor weight_OI = at::randn({32, 48}), bias_O = at::randn({32});
};

struct Result {
    at::Tensor y, x, weight;  // gradients of the last two
};

at::Tensor input(std::int64_t number) {
    return at::randn({5, 16, 48}).mul(1.0 + 0.1 * static_cast<double>(number));
}

at::Tensor low(const at::Tensor& tensor) { return tensor.defined() ? tensor.to(at::kBFloat16) : tensor; }

at::Tensor rows_of(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

// One call of a layer, as the core makes it; bias: none where it is undefined.
struct Call {
    QuantizedInputs operands;
    bool scaled = false;
    at::Tensor y;  // [..., out], bfloat16
};

Call forward(const Fp8& fp8, const Layer& layer, const at::Tensor& x, bool for_gradient) {
    const at::NoGradGuard no_grad;
    Call call;
    call.scaled = fp8->quantize({x, layer.weight_OI, layer.bias_O}, layer.site, for_gradient, call.operands);
    const at::Tensor y_RO =
        call.scaled ? fp8.linear->forward(call.operands.x, {call.operands.weight}, layer.bias_O)
                    : fp8.linear->forward({low(rows_of(x))}, {{low(layer.weight_OI)}}, low(layer.bias_O));
    auto sizes = x.sizes().vec();
    sizes.back() = layer.weight_OI.size(0);
    call.y = low(y_RO).view(sizes);
    return call;
}

Result backward(const Fp8& fp8, const Layer& layer, const at::Tensor& x, const Call& call,
                const at::Tensor& grad) {
    const at::NoGradGuard no_grad;
    const at::Tensor grad_RO = rows_of(grad);
    if (!call.scaled)
        return {call.y, fp8.linear->input_gradient({grad_RO}, {{low(layer.weight_OI)}}),
                fp8.linear->weight_gradient({grad_RO}, {low(rows_of(x))}).to(at::kFloat)};
    const auto made =
        fp8->quantize_gradient(grad_RO, layer.weight_OI, call.operands.kept_x, layer.site, {true, true});
    return {call.y, fp8.linear->input_gradient(made.grad, {made.weight}),
            fp8.linear->weight_gradient(made.grad_t, made.kept_x)};
}

Result train(const Fp8& fp8, const Layer& layer, const at::Tensor& x) {
    const Call call = forward(fp8, layer, x, true);
    return backward(fp8, layer, x, call, call.y.mul(0.25));
}

at::Tensor infer(const Fp8& fp8, const Layer& layer, const at::Tensor& x) {
    return forward(fp8, layer, x, false).y;
}

void step(const Fp8& fp8, const Layer& layer, const at::Tensor& x) {
    fp8->begin_step();
    train(fp8, layer, x);
    fp8->update(false);
    fp8->end_step();
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
        CHECK(report.cases > 30);
    }
}

TEST_CASE("what ran is reported: float8, filled up, and why not") {
    Options options = all_of("current");
    options.set("keep", std::vector<std::string>{"*.out"});
    options.set("min_intensity", 10.0);
    const auto policy = make(options);
    const auto call = [&](const char* name, std::int64_t rows, std::int64_t in, std::int64_t out,
                          float first = 1.0F) {
        const at::Tensor x = at::randn({rows, in});
        if (rows > 0) x[0][0] = first;
        const Layer layer{{name, 1, 4}, at::randn({out, in}), {}};
        infer(policy, layer, x);
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
    CHECK(policy.policy.counter->calls() == expected);
    const std::map<std::string, std::uint64_t> multiplied{
        {"float8", 1}, {"float8_padded", 3}, {"bfloat16", 4}};
    CHECK(policy.linear.counter->calls() == multiplied);
}

TEST_CASE("layers that are kept are bfloat16's") {
    Options options;
    options.set("cpu_reference", true);
    options.set("min_intensity", 0.0);
    const auto policy = make(options);
    Layer layer;
    const at::Tensor x = at::randn({6, 48}).to(at::kBFloat16);
    const at::Tensor y = at::linear(x, low(layer.weight_OI), low(layer.bias_O)), grad = y.mul(0.25);
    for (const char* name : {"encoder.0.attention.q", "encoder.3.feed_forward.in", "pooler"}) {
        layer.site.name = name;
        const auto mine = train(policy, layer, x);
        CHECK(mine.y.equal(y));
        CHECK(mine.x.equal(grad.matmul(low(layer.weight_OI))));
        CHECK(mine.weight.equal(grad.t().matmul(x).to(at::kFloat)));
    }
    layer.site.name = "encoder.1.attention.q";
    CHECK_FALSE(train(policy, layer, x).y.equal(y));
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
    const auto result = train(policy, layer, x);
    const auto tensor = ScaleGroup::tensor;
    const auto decoded = [](const fp8::Scaled& x) { return reference::unscaled(x.operand); };
    const at::Tensor weight = decoded(fp8::quantize(layer.weight_OI, fp8::Format::e4m3, tensor));
    const at::Tensor inner = decoded(fp8::quantize(x_RI, fp8::Format::e4m3, tensor));
    const at::Tensor grad_RO = result.y.mul(0.25).reshape({-1, 32});
    const at::Tensor grad = decoded(fp8::quantize(grad_RO, fp8::Format::e5m2, tensor));
    CHECK(result.y.equal(at::linear(inner, weight).add(layer.bias_O).to(at::kBFloat16).view({5, 16, 32})));
    CHECK(result.x.allclose(grad.matmul(weight), 1e-5, 1e-5));
    CHECK(result.weight.allclose(grad.t().matmul(inner), 1e-5, 1e-5));
}

TEST_CASE("delayed scaling takes the scales of the steps before, which calls of this step do not change") {
    const auto policy = make(all_of("delayed"));
    const Layer layer;
    const at::Tensor small = at::full({1, 16, 48}, 2.0F), large = at::full({1, 16, 48}, 3.0F);
    step(policy, layer, small);
    CHECK(entries(*policy).at("scale." + layer.site.name)[0].item<float>() == 224.0F);
    policy->begin_step();
    // 3 * 224 is more than 448: it saturates, and is 2.
    for (int micro_batch = 0; micro_batch < 2; ++micro_batch)
        CHECK(train(policy, layer, large).y.equal(infer(policy, layer, small)));
    policy->end_step();
    policy->update(false);
    CHECK(entries(*policy).at("scale." + layer.site.name)[0].item<float>() == Approx(448.0F / 3.0F));
    CHECK_FALSE(infer(policy, layer, large).equal(infer(policy, layer, small)));
}

TEST_CASE("recomputation and inference see the scales of the step and leave no trace in the history") {
    const auto policy = make(all_of("delayed")), without = make(all_of("delayed"));
    const Layer layer;
    for (std::int64_t i = 0; i < 3; ++i) {
        const at::Tensor x = input(i);
        step(without, layer, x);
        policy->begin_step();
        infer(policy, layer, x.mul(100.0));
        const at::Tensor y = forward(policy, layer, x, true).y;
        policy->set_recompute(true);
        const Call again = forward(policy, layer, x, true);
        CHECK(again.y.equal(y));
        forward(policy, {layer.site, layer.weight_OI.mul(50.0), {}}, x.mul(50.0), true);
        policy->set_recompute(false);
        backward(policy, layer, x, again, y.mul(0.25));
        policy->update(false);
        policy->end_step();
        CHECK(same(entries(*policy), entries(*without)));
    }
    policy->begin_step();
    infer(policy, layer, input(9));
    policy->end_step();
    CHECK(same(entries(*policy), entries(*without)));
}

TEST_CASE("a state that is saved and loaded goes on with the same bits") {
    const auto first = make(all_of("delayed")), second = make(all_of("delayed"));
    const Layer layer;
    for (std::int64_t i = 0; i < 4; ++i) step(first, layer, input(i));
    second->load(first->state());
    CHECK(same(entries(*first), entries(*second)));
    for (std::int64_t i = 4; i < 7; ++i) {
        const at::Tensor x = input(i);
        CHECK(infer(first, layer, x).equal(infer(second, layer, x)));
        for (const auto* policy : {&first, &second}) step(*policy, layer, x);
        CHECK(same(entries(*first), entries(*second)));
    }
    CHECK(make(all_of("current"))->state().entries.empty());
}

TEST_CASE("a weight is cast once a step, and again after an in-place change and in the next step") {
    const auto policy = make(all_of("blockwise"));
    const Layer layer;
    const at::Tensor x = input(0);
    policy->begin_step();
    const at::Tensor y = infer(policy, layer, x);
    auto* value = static_cast<float*>(layer.weight_OI.unsafeGetTensorImpl()->mutable_data());
    for (std::int64_t i = 0; i < layer.weight_OI.numel(); ++i) value[i] *= 3.0F;
    CHECK(infer(policy, layer, x).equal(y));
    policy->end_step();
    const at::Tensor then = infer(policy, layer, x);
    CHECK_FALSE(then.equal(y));
    layer.weight_OI.mul_(3.0);
    CHECK_FALSE(infer(policy, layer, x).equal(then));
}

TEST_CASE("infinity and NaN come out as what they are, and a gradient with one is NaN") {
    for (const std::string recipe : {"delayed", "current", "blockwise"}) {
        INFO(recipe);
        const auto policy = make(all_of(recipe));
        const Layer layer;
        at::Tensor x = input(0);
        x[0][0][0] = INFINITY;
        CHECK(infer(policy, layer, x)[0][0].isinf().all().item<bool>());
        CHECK(infer(policy, layer, x).isfinite().sum().item<std::int64_t>() == 79 * 32);
        const Call call = forward(policy, layer, input(1), true);
        at::Tensor grad = call.y.clone();
        grad[4][3][2] = INFINITY;
        const auto grads = backward(policy, layer, input(1), call, grad);
        CHECK(grads.x.isnan().any().item<bool>());
        CHECK(grads.weight.isnan().any().item<bool>());
        policy->update(true);
        for (const auto& [key, value] : entries(*policy)) CHECK(value.isfinite().all().item<bool>());
    }
}
