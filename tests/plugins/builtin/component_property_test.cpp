// What components answer to questions (<switchyard/interfaces/component_property.h>), as they are bound and
// after a call. To add a case: a component, what is done with it, and the answer in the words of `switchyard
// precision`.
#include "builtin.h"

#include <string>

#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>

#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/precision.h>
#include <switchyard/interfaces/torch_types.h>
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

void call_linear(Linear& linear, std::int64_t size, at::ScalarType type) {
    linear.forward({at::randn({size, size}).to(type)}, {{at::randn({size, size}).to(type)}}, {});
}

}  // namespace

TEST_CASE("a question that nobody knows has no answer") {
    const OptimizerRequest request;
    for (const char* plugin : {"torch", "naive", "fused"})
        CHECK(asked(*test::make<Optimizer>(plugin, plugin, request), "weather.1") == "nothing");
}

TEST_CASE("gemm says what its tiles multiply in, and nothing where LibTorch multiplied") {
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
        INFO(name(dtype));
        const auto type = to_scalar_type(dtype);
        LinearRequest request;
        request.dtype = request.weight_dtype = request.output_dtype = dtype;
        const auto linear = test::make<Linear>("gemm", "gemm", request);
        CHECK(computed_in(*linear) == "nothing");
        call_linear(*linear, 64, type);
        CHECK(computed_in(*linear) == in_tiles(type));
        call_linear(*linear, 8, type);
        CHECK(computed_in(*linear) == "nothing");
    }
}

TEST_CASE("fp8 says it of products in float8, and nothing of those that are left in bfloat16") {
    LinearRequest request;
    request.dtype = request.weight_dtype = DType::float8_e4m3fn;
    request.output_dtype = DType::bfloat16;
    request.weight_format = WeightFormat::scaled;
    const auto linear = test::make<Linear>("fp8", "scaled", request);
    const auto operand = [](at::ScalarType type) {
        return LinearOperand{at::randn({16, 16}).to(type), at::ones({})};
    };
    const auto values = operand(at::kFloat8_e4m3fn), gradient = operand(at::kFloat8_e5m2);
    linear->forward(values, {values}, {});
    CHECK(computed_in(*linear) == "E4M3 as fp32");
    linear->input_gradient(gradient, {values});
    CHECK(computed_in(*linear) == "E5M2 as fp32");
    call_linear(*linear, 16, at::kBFloat16);
    CHECK(computed_in(*linear) == "nothing");
    linear->weight_gradient(gradient, values);
    CHECK(computed_in(*linear) == "E5M2 as fp32");
}

TEST_CASE(
    "policies multiply nothing, so their bits are the same on any number of threads; products say whose") {
    PrecisionRequest policy;
    policy.deterministic = true;
    for (const auto& [plugin, id] : {std::pair("amp", "fp32"),
                                     {"amp", "bf16"},
                                     {"torch", "fp32"},
                                     {"torch", "bf16"},
                                     {"naive", "reference"}}) {
        INFO(plugin << "/" << id);
        CHECK(asked(*test::make<Precision>(plugin, id, policy), thread_counts_property).empty());
        CHECK(computed_in(*test::make<Precision>(plugin, id, policy)) == "nothing");
    }
    LinearRequest request;
    const std::string libtorch = "linear layers are LibTorch's products on a processor without AVX-512";
    CHECK(asked(*test::make<Linear>("gemm", "gemm", request), thread_counts_property) == libtorch);
    request.deterministic = true;
    CHECK(asked(*test::make<Linear>("gemm", "gemm", request), thread_counts_property) ==
          (tiles::multiplies(at::kFloat) ? "" : libtorch));
    for (const char* plugin : {"torch", "naive"})
        CHECK(asked(*test::make<Linear>(plugin, plugin, request), thread_counts_property) == "nothing");
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
    request = {};
    request.masks = {MaskKind::causal};
    CHECK(asked(*test::make<Attention>("torch", "torch", request), graph_capture_property).empty());
    request.query_offsets = true;
    CHECK(asked(*test::make<Attention>("torch", "torch", request), graph_capture_property) ==
          "a causal mask with query_offsets is looked through for rows without keys, on the host");
    CHECK(asked(*test::make<Attention>("flash", "flash", request), graph_capture_property).empty());
    const LinearRequest linear;
    CHECK(asked(*test::make<Linear>("torch", "torch", linear), graph_capture_property).empty());
    CHECK(asked(*test::make<Linear>("naive", "naive", linear), graph_capture_property) == "nothing");
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
