// A layer against the same layer written down in plain ATen calls.
// To add a case: a configuration (as overrides) and what it should compute.
#include <cmath>
#include <map>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>

#include <switchyard/config/load.h>
#include <switchyard/host/discovery/discovery.h>
#include <switchyard/model/layer.h>
#include <switchyard/model/planning.h>

#include <switchyard_test.h>

using namespace switchyard;
using switchyard::test::contains;

namespace {

constexpr double eps = 1e-5;

const HostInfo& host() {
    static const HostInfo info = [] {
        HostInfo made;
        made.cores = 2;
        return made;
    }();
    return info;
}

host::Registry& registry() {
    static host::Registry found([] {
        host::DiscoveryOptions options;
        options.run_probes = false;
        options.path.entries = {
            {(test::build_dir() / "lib/switchyard/plugins/libnaive.so").string(), "test", true}};
        return host::discover(options, host());
    }());
    return found;
}

config::Config configured(std::vector<std::string> overrides) {
    for (const char* common :
         {"model.layers=2", "model.hidden_size=24", "model.heads=4", "model.head_dim=6", "model.dropout=0.0",
          "model.attention_dropout=0.0", "model.norm_eps=1e-5", "batch.size=2", "batch.max_length=7",
          "attention.backend=naive", "normalization.backend=naive", "activation.backend=naive"}) {
        overrides.insert(overrides.begin(), common);
    }
    config::LoadRequest request;
    request.overrides = overrides;
    const auto result = config::load(request);
    for (const auto& problem : result.problems) UNSCOPED_INFO(problem.key << ": " << problem.message);
    REQUIRE(result.config.has_value());
    return *result.config;
}

// A layer with its parameters by name.
struct Made {
    explicit Made(const config::Config& config)
        : plan(model::make_plan(config, registry(), host())),
          layer(config, config.layer_ids().front(), plan, registry(), host(), 3) {
        for (const auto& parameter : layer.parameters()) p[parameter.name] = parameter.value.detach();
    }
    resolver::Plan plan;
    model::Layer layer;
    std::map<std::string, at::Tensor> p;
};

at::Tensor heads_of(const at::Tensor& x, std::int64_t first, std::int64_t count) {
    const auto B = x.size(0), N = x.size(1);
    return x.view({B, N, -1, 6}).narrow(2, first, count).transpose(1, 2);
}

at::Tensor attention(const at::Tensor& qkv, std::int64_t kv_heads, bool causal) {
    const auto N = qkv.size(1);
    const auto q = heads_of(qkv, 0, 4);
    const auto repeat = [&](const at::Tensor& t) { return t.repeat_interleave(4 / kv_heads, 1); };
    const auto k = repeat(heads_of(qkv, 4, kv_heads)), v = repeat(heads_of(qkv, 4 + kv_heads, kv_heads));
    auto scores = at::matmul(q, k.transpose(-1, -2)) / std::sqrt(6.0);
    if (causal) scores = scores.masked_fill(at::ones({N, N}).triu(1).to(at::kBool), -INFINITY);
    return at::matmul(at::softmax(scores, -1), v).transpose(1, 2).reshape({qkv.size(0), N, 24});
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight) {
    return x * at::rsqrt(x.square().mean(-1, true) + eps) * weight;
}

}  // namespace

TEST_CASE("a post-norm layer is BERT's") {
    Made made(configured({"model.type=bert", "model.intermediate_size=40"}));
    const auto& p = made.p;
    const auto norm = [&](const at::Tensor& x, const std::string& name) {
        return at::layer_norm(x, {24}, p.at(name + ".weight"), p.at(name + ".bias"), eps);
    };
    const auto x = at::randn({2, 7, 24});
    const auto qkv = at::linear(x, p.at("attention.qkv.weight"), p.at("attention.qkv.bias"));
    const auto attended =
        at::linear(attention(qkv, 4, false), p.at("attention.out.weight"), p.at("norm1.input_bias"));
    const auto y = norm(x + attended, "norm1");
    const auto inner = at::gelu(at::linear(y, p.at("feed_forward.up.weight"), p.at("feed_forward.up.bias")));
    const auto expected =
        norm(y + at::linear(inner, p.at("feed_forward.down.weight"), p.at("norm3.input_bias")), "norm3");
    CHECK(at::allclose(made.layer(x, 0), expected, 1e-4, 1e-5));
}

TEST_CASE("a pre-norm layer is GPT's and Llama's, with grouped heads, RMSNorm and a gate") {
    Made made(configured({"model.type=gpt", "model.intermediate_size=40", "model.kv_heads=2",
                          "model.norm=rms_norm", "model.norm_position=pre", "model.activation=swiglu",
                          "model.bias=false", "model.positions=learned"}));
    const auto& p = made.p;
    const auto x = at::randn({2, 7, 24});
    const auto qkv = at::linear(rms_norm(x, p.at("norm1.weight")), p.at("attention.qkv.weight"));
    const auto sum = x + at::linear(attention(qkv, 2, true), p.at("attention.out.weight"));
    const auto up = at::linear(rms_norm(sum, p.at("norm2.weight")), p.at("feed_forward.up.weight"));
    const auto inner = at::silu(up.narrow(-1, 0, 40)) * up.narrow(-1, 40, 40);
    const auto expected =
        rms_norm(sum + at::linear(inner, p.at("feed_forward.down.weight")), p.at("norm3.weight"));
    CHECK(at::allclose(made.layer(x, 0), expected, 1e-4, 1e-5));
    CHECK(p.count("attention.qkv.bias") == 0);
}

TEST_CASE("gradients reach the input and every parameter") {
    Made made(configured({"model.type=bert", "model.intermediate_size=40"}));
    const auto x = at::randn({2, 7, 24}).requires_grad_(true);
    made.layer(x, 0).square().sum().backward();
    CHECK(x.grad().abs().sum().item<double>() > 0.0);
    for (const auto& parameter : made.layer.parameters()) {
        INFO(parameter.name);
        REQUIRE(parameter.value.grad().defined());
        CHECK(parameter.value.grad().abs().sum().item<double>() > 0.0);
    }
}

TEST_CASE("dropout follows the step, and the seed makes the parameters") {
    const auto config = configured({"model.type=bert", "model.intermediate_size=40", "model.dropout=0.3"});
    Made one(config), other(config);
    const auto x = at::randn({2, 7, 24});
    CHECK(at::allclose(one.layer(x, 1), other.layer(x, 1), 0.0, 0.0));
    CHECK_FALSE(at::allclose(one.layer(x, 1), one.layer(x, 2), 1e-3, 1e-3));
    CHECK(at::allclose(one.p.at("norm1.weight"), other.p.at("norm1.weight"), 0.0, 0.0));
}

TEST_CASE("a plan without the layer's parts is refused by name") {
    auto config = configured({"model.type=bert", "model.intermediate_size=40"});
    config.activation.backend = {"nowhere"};
    CHECK_THROWS_WITH(Made(config), contains("the plan has nothing for activation of encoder.0 in training"));
}
