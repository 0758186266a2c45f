// What components answer to questions (<switchyard/interfaces/component_property.h>), as they are bound and
// after a call. To add a case: a component, what is done with it, and the answer in the words of `switchyard
// precision`.
#include "builtin.h"

#include <string>

#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>

#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/precision.h>
#include <switchyard/sdk/cpu/tile_product.h>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

std::string asked(Component& component, std::string_view question) {
    const auto* const text = static_cast<const char*>(component.query(question));
    return text == nullptr ? "nothing" : text;
}

std::string computed_in(Component& component) { return asked(component, computes_in_property); }

// What products of such numbers run in here, where they go in tiles.
std::string in_tiles(at::ScalarType type) {
    if (!tiles::multiplies(type)) return "nothing";
    return type == at::kFloat ? "fp32" : "bf16, fp32 sums";
}

void call_linear(Precision& policy, std::int64_t size) {
    policy.linear({at::randn({size, size}), at::randn({size, size}), {}}, {}, nullptr);
}

}  // namespace

TEST_CASE("a question that nobody knows has no answer") {
    const OptimizerRequest request;
    for (const char* plugin : {"torch", "naive", "fused"})
        CHECK(asked(*test::make<Optimizer>(plugin, plugin, request), "weather.1") == "nothing");
}

TEST_CASE("amp says what its tiles multiply in, and nothing where LibTorch multiplied") {
    const PrecisionRequest request;
    for (const auto& [id, type] : {std::pair("fp32", at::kFloat), {"bf16", at::kBFloat16}}) {
        INFO(id);
        const auto policy = test::make<Precision>("amp", id, request);
        CHECK(computed_in(*policy) == "nothing");
        call_linear(*policy, 64);
        CHECK(computed_in(*policy) == in_tiles(type));
        call_linear(*policy, 8);
        CHECK(computed_in(*policy) == "nothing");
    }
}

TEST_CASE("fp8 says it of layers in float8, and nothing of those that are left in bfloat16") {
    const PrecisionRequest request;
    Options options;
    options.set("cpu_reference", true);
    options.set("min_intensity", 0.0);
    const auto policy = test::make<Precision>("fp8", "fp8", request, "", options);
    const LinearSite inside{"encoder.1.attention.q", 1, 3}, first{"encoder.0.attention.q", 0, 3};
    const LinearInputs inputs{at::randn({16, 16}), at::randn({16, 16}), {}};
    policy->linear(inputs, inside, nullptr);
    CHECK(computed_in(*policy) == "E4M3 as fp32");
    policy->linear(inputs, first, nullptr);
    CHECK(computed_in(*policy) == "nothing");
}

TEST_CASE("fused computes in float32 whatever it stores, but for statistics of low precision") {
    NormalizationRequest request;
    request.dtype = DType::bfloat16;
    CHECK(computed_in(*test::make<Normalization>("fused", "fused", request)) == "fp32");
    CHECK(computed_in(*test::make<Normalization>("fused", "low_precision", request)) == "fp32, bf16 stats");
    const OptimizerRequest step;
    CHECK(computed_in(*test::make<Optimizer>("fused", "fused", step)) == "fp32");
    CHECK(computed_in(*test::make<Optimizer>("optim8bit", "optim8bit", step)) == "fp32");
}

TEST_CASE("flash says what its tiles multiply in, and float32 of few queries, which go in rows") {
    AttentionRequest request;
    request.dtype = DType::bfloat16;
    const auto attention = test::make<Attention>("flash", "flash", request);
    const auto call = [&](std::int64_t queries) {
        const auto q = at::ones({1, 1, queries, 64}, at::dtype(at::kBFloat16));
        const auto k = at::ones({1, 1, 64, 64}, at::dtype(at::kBFloat16));
        AttentionInputs inputs;
        inputs.q = q, inputs.k = k, inputs.v = k;
        attention->forward(inputs, {}, nullptr);
    };
    call(64);
    CHECK(computed_in(*attention) == std::string(tiles::multiplied_in(at::kBFloat16)));
    call(1);
    CHECK(computed_in(*attention) == "fp32");
}

TEST_CASE("whether steps can be captured is answered with yes or with the reason") {
    const OptimizerRequest step;
    for (const char* plugin : {"fused", "optim8bit"})
        CHECK(asked(*test::make<Optimizer>(plugin, plugin, step), graph_capture_property).empty());
    CHECK(asked(*test::make<Optimizer>("naive", "naive", step), graph_capture_property) == "nothing");

    AttentionRequest request;
    for (const char* plugin : {"flash", "torch"}) {
        request.layout = Layout::padded;
        CHECK(asked(*test::make<Attention>(plugin, plugin, request), graph_capture_property).empty());
        request.layout = Layout::packed;
        CHECK(asked(*test::make<Attention>(plugin, plugin, request), graph_capture_property) ==
              "lengths of packed sequences are read on the host");
    }
    PrecisionRequest scaled;
    CHECK(asked(*test::make<Precision>("amp", "fp16", scaled), graph_capture_property).empty());
    scaled.loss_scaling = true;
    CHECK(asked(*test::make<Precision>("amp", "fp16", scaled), graph_capture_property) ==
          "the loss scale is kept on the host and follows what a step overflowed");
    const PrecisionRequest request8;
    CHECK_THAT(asked(*test::make<Precision>("fp8", "fp8", request8), graph_capture_property),
               test::contains("scales follow magnitudes"));
    Options current;
    current.set("recipe", std::string("current"));
    CHECK(asked(*test::make<Precision>("fp8", "fp8", request8, "", current), graph_capture_property).empty());
}
