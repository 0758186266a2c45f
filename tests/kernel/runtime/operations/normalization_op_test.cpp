// norm(residual + dropout(x + bias)) through components that serve only some of it, against the reference of
// the whole. To add a way to compose: one more row of `compositions`.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/kernel/runtime/operations/normalization_op.h"

#include "compare_gradients.h"
#include "narrow_components.h"
#include "tests/kernel/runtime/fake_component.h"

#include <switchyard_test.h>

using namespace switchyard;
using runtime::NormalizationOp;
using switchyard::test::FakeComponent;
using switchyard::test::leaf;
using switchyard::test::TestNormalization;
using FakeNormalization = FakeComponent<Normalization, TestNormalization>;

namespace {

const std::vector<resolver::Composed> compositions{
    {}, {"bias"}, {"bias", "dropout"}, {"bias", "dropout", "residual"}};

NormalizationRequest wide_request() {
    NormalizationRequest request;
    request.dtype = request.parameter_dtype = DType::float64;
    request.needs_grad = true;
    request.rows = {1, 100};
    request.width = {2, 200};
    request.input_bias = request.residual = true;
    request.dropout = 0.3;
    return request;
}

NormalizationOp bound(const FakeNormalization& fake, NormalizationRequest request,
                      const resolver::Composed& composed = {}) {
    for (const auto& part : composed) {
        if (part == "bias") request.input_bias = false;
        if (part == "dropout") request.dropout = 0.0;
        if (part == "residual") request.residual = false;
    }
    runtime::BindingInfo info;
    info.slot = "normalization";
    info.request = std::make_shared<NormalizationRequest>(request);
    return NormalizationOp(fake.loaded(), info, composed);
}

at::Tensor cu_seqlens(std::vector<int> values) {
    return at::tensor(values, at::TensorOptions().dtype(at::kInt));
}

test::Function as_function(const NormalizationOp& op, const NormalizationParams& params) {
    return [&op, params](const std::vector<at::Tensor>& i) {
        const auto made = op({i[0], i[1], i[2], i[3], i[4]}, params);
        return std::vector<at::Tensor>{made.y, made.sum};
    };
}

test::Function wide_reference(const NormalizationParams& params) {
    return [params](const std::vector<at::Tensor>& i) {
        const auto made = reference::normalization({i[0], i[1], i[2], i[3], i[4]}, params);
        return std::vector<at::Tensor>{made.y, made.sum};
    };
}

}  // namespace

TEST_CASE("normalization composed of narrower parts equals the reference of the whole, gradients too") {
    const auto mode = GENERATE(GradientMode::kernel, GradientMode::differentiable, GradientMode::recompute);
    const auto norm = GENERATE(NormKind::layer_norm, NormKind::rms_norm);
    const auto layout = GENERATE(Layout::padded, Layout::packed);
    const FakeNormalization fake(mode);
    NormalizationRequest request = wide_request();
    request.norm = norm;
    NormalizationParams params;
    params.norm = norm;
    params.dropout = {0.3, 77};
    params.tokens.layout = layout;
    params.tokens.first_document = 5;
    if (layout == Layout::packed) params.tokens.cu_seqlens = cu_seqlens({0, 3, 3, 10});
    const std::vector<std::int64_t> sizes =
        layout == Layout::packed ? std::vector<std::int64_t>{10, 70} : std::vector<std::int64_t>{2, 5, 70};
    const at::Tensor beta = norm == NormKind::layer_norm ? leaf({70}, 5) : at::Tensor();
    const std::vector<at::Tensor> inputs{leaf(sizes, 1), leaf({70}, 2), leaf(sizes, 3), leaf({70}, 4), beta};
    for (const auto& composed : compositions) {
        const NormalizationOp op = bound(fake, request, composed);
        const auto difference = test::compare(as_function(op, params), wide_reference(params), inputs);
        CHECK(difference.outputs < 1e-14);
        CHECK(difference.gradients < 1e-12);
        CHECK(op.binding().executed().calls() == std::map<std::string, std::uint64_t>{{"test", 1}});
    }
}

TEST_CASE("normalization: parts that are not there are not invented") {
    const FakeNormalization fake(GradientMode::kernel);
    NormalizationParams params;
    const at::Tensor x = leaf({4, 16}, 1), bias = leaf({16}, 2), residual = leaf({4, 16}, 3),
                     weight = leaf({16}, 4);
    const std::vector<std::vector<at::Tensor>> rows{{x, {}, {}, weight, {}},
                                                    {x, bias, {}, weight, {}},
                                                    {x, {}, residual, weight, {}},
                                                    {x, bias, residual, weight, leaf({16}, 5)}};
    for (const auto& inputs : rows) {
        for (const auto& composed : compositions) {
            const NormalizationOp op = bound(fake, wide_request(), composed);
            const auto difference = test::compare(as_function(op, params), wide_reference(params), inputs);
            CHECK(difference.outputs == 0.0);
            CHECK(difference.gradients < 1e-12);
        }
    }
}

TEST_CASE("normalization: composed in bfloat16 it rounds where the reference does") {
    const FakeNormalization fake(GradientMode::differentiable);
    NormalizationRequest request = wide_request();
    request.dtype = DType::bfloat16;
    request.parameter_dtype = DType::float32;
    NormalizationParams params;
    params.dropout = {0.3, 3};
    const auto low = [](const at::Tensor& tensor) { return tensor.detach().to(at::kBFloat16); };
    const NormalizationInputs inputs{low(leaf({2, 3, 64}, 1)), leaf({64}, 2).detach().to(at::kFloat),
                                     low(leaf({2, 3, 64}, 3)), leaf({64}, 4).detach().to(at::kFloat),
                                     leaf({64}, 5).detach().to(at::kFloat)};
    const auto expected = reference::normalization(inputs, params);
    for (const auto& composed : compositions) {
        const auto made = bound(fake, request, composed)(inputs, params);
        CHECK(at::equal(made.y, expected.y));
        CHECK(at::equal(made.sum, expected.sum));
    }
}

TEST_CASE("normalization: the same tokens lose the same values, padded or packed, composed or not") {
    const FakeNormalization fake(GradientMode::differentiable);
    const NormalizationOp fused = bound(fake, wide_request());
    const NormalizationOp composed = bound(fake, wide_request(), {"bias", "dropout"});
    NormalizationParams padded, packed;
    padded.dropout = packed.dropout = {0.4, 11};
    packed.tokens.layout = Layout::packed;
    packed.tokens.cu_seqlens = cu_seqlens({0, 6, 12});
    const at::Tensor x = leaf({2, 6, 100}, 1).detach(), weight = leaf({100}, 2).detach();
    const at::Tensor flat = x.view({12, 100});
    const at::Tensor expected = reference::normalization({x, {}, {}, weight, {}}, padded).sum.view({12, 100});
    CHECK(expected.eq(0).sum().item<std::int64_t>() > 300);
    for (const NormalizationOp* op : {&fused, &composed}) {
        CHECK(at::equal((*op)({x, {}, {}, weight, {}}, padded).sum.view({12, 100}), expected));
        CHECK(at::equal((*op)({flat, {}, {}, weight, {}}, packed).sum, expected));
    }
}

TEST_CASE("normalization: a graph that uses only the sum still reaches the component's backward") {
    const FakeNormalization fake(GradientMode::kernel);
    const NormalizationOp op = bound(fake, wide_request());
    const at::Tensor x = leaf({4, 8}, 1), residual = leaf({4, 8}, 2), weight = leaf({8}, 3);
    const auto made = op({x, {}, residual, weight, {}}, {});
    const auto grads = torch::autograd::grad({made.sum.sum()}, {x, weight});
    CHECK(grads[0].eq(1).all().item<bool>());
    CHECK(grads[1].eq(0).all().item<bool>());
}

TEST_CASE("normalization: calls that do not fit are errors with their values") {
    const FakeNormalization fake(GradientMode::kernel, "acme", "norms");
    NormalizationRequest request = wide_request();
    request.residual = false;
    request.affine_bias = false;
    const NormalizationOp op = bound(fake, request);
    NormalizationInputs in{leaf({4, 8}, 1), leaf({8}, 2), {}, leaf({8}, 3), {}};
    NormalizationParams params;
    std::string expected;
    SECTION("dtype") {
        in.x = in.x.to(at::kFloat);
        expected = "x is Float, bound for float64";
    }
    SECTION("rows") {
        in.x = leaf({101, 8}, 1);
        expected = "rows is 101, bound for 1..100";
    }
    SECTION("width") {
        in.x = leaf({3, 201}, 1);
        expected = "width is 201, bound for 2..200";
    }
    SECTION("kind") {
        params.norm = NormKind::rms_norm;
        expected = "the norm is rms_norm, bound for layer_norm";
    }
    SECTION("weight") {
        in.weight = leaf({9}, 3);
        expected = "weight must be [8], the width of x [4, 8], got [9]";
    }
    SECTION("parameter dtype") {
        in.weight = in.weight.to(at::kFloat);
        expected = "weight is Float, bound for float64";
    }
    SECTION("residual") {
        in.residual = leaf({4, 8}, 9);
        expected = "a residual is given, bound for calls without it";
    }
    SECTION("beta") {
        in.beta = leaf({8}, 9);
        expected = "a beta is given, bound for calls without it";
    }
    SECTION("tokens for dropout") {
        params.dropout = {0.1, 1};
        expected =
            "dropout counts by tokens in the padded layout, for which x must be [batch, seq, width], got [4, "
            "8]";
    }
    SECTION("cu_seqlens") {
        params.dropout = {0.1, 1};
        params.tokens.layout = Layout::packed;
        params.tokens.cu_seqlens = cu_seqlens({0, 3, 5});
        expected = "cu_seqlens must end at the total of 4, got 5";
    }
    CHECK_THROWS_WITH(op(in, params), Catch::Matchers::Equals(
                                          "normalization (plugin 'acme', component 'norms'): " + expected));
    CHECK(op.binding().executed().total() == 0);
}

TEST_CASE("normalization: what cannot be bound is told when it is bound") {
    const FakeNormalization none(GradientMode::none), recompute(GradientMode::recompute);
    CHECK_THROWS_WITH(bound(none, wide_request()),
                      test::contains("gradients are needed, and this component has none"));
    CHECK_THROWS_WITH(bound(recompute, wide_request(), {"projection"}),
                      test::contains("cannot be composed with 'projection'"));
    FakeNormalization library(GradientMode::recompute);
    library.manifest().random = RandomSource::library;
    CHECK_THROWS_WITH(bound(library, wide_request()),
                      test::contains("cannot be recomputed by the reference"));
    CHECK_NOTHROW(bound(library, wide_request(), {"bias", "dropout"}));
}

TEST_CASE("normalization: a component that returns something else is told so") {
    class Wrong final : public Normalization {
    public:
        using Normalization::Normalization;
        NormalizationOutputs forward(const NormalizationInputs& in, const NormalizationParams&,
                                     Saved*) override {
            return {in.residual.defined() ? in.x : in.x.sum(), {}};
        }
    };
    const FakeComponent<Normalization, Wrong> fake(GradientMode::differentiable, "acme", "wrong");
    runtime::BindingInfo info;
    info.slot = "normalization";
    info.request = std::make_shared<NormalizationRequest>(wide_request());
    const NormalizationOp op(fake.loaded(), info);
    CHECK_THROWS_WITH(
        op({leaf({4, 8}, 1), {}, {}, leaf({8}, 2), {}}, {}),
        Catch::Matchers::Equals(
            "plugin 'acme', component 'wrong', normalization.forward: returned a y that is not like x"));
    CHECK_THROWS_WITH(op({leaf({4, 8}, 1), {}, leaf({4, 8}, 2), leaf({8}, 2), {}}, {}),
                      Catch::Matchers::Equals(
                          "plugin 'acme', component 'wrong', normalization.forward: returned no sum like x"));
}
