// Attention through a bound component: gradients in each mode, and what a call that does not fit is told. To
// add a bad call: one more SECTION with the change and the text.
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/kernel/runtime/operations/attention_op.h"

#include "compare_gradients.h"
#include "narrow_components.h"
#include "tests/kernel/runtime/fake_component.h"

#include <switchyard_test.h>

using namespace switchyard;
using runtime::AttentionOp;
using switchyard::test::FakeComponent;
using switchyard::test::leaf;
using FakeAttention = FakeComponent<Attention, switchyard::test::TestAttention>;

namespace {

AttentionRequest padded_request() {
    AttentionRequest request;
    request.dtype = DType::float64;
    request.needs_grad = true;
    request.batch = {1, 4};
    request.heads = 4;
    request.kv_heads = 2;
    request.q_length = {1, 16};
    request.kv_length = {1, 16};
    request.head_dim = 8;
    request.v_head_dim = 6;
    request.masks = {MaskKind::causal, MaskKind::key_lengths, MaskKind::dense_bias, MaskKind::relative_bias};
    request.bias_gradient = true;
    request.dropout = 0.2;
    request.query_offsets = true;
    request.custom_scale = true;
    request.want_lse = true;
    return request;
}

AttentionRequest packed_request() {
    AttentionRequest request = padded_request();
    request.layout = Layout::packed;
    request.masks = {MaskKind::causal, MaskKind::documents};
    return request;
}

AttentionOp bound(const FakeAttention& fake, const AttentionRequest& request) {
    runtime::BindingInfo info;
    info.slot = "attention.cross";
    info.request = std::make_shared<AttentionRequest>(request);
    return AttentionOp(fake.loaded(), info);
}

at::Tensor ints(std::vector<int> values) { return at::tensor(values, at::TensorOptions().dtype(at::kInt)); }

AttentionParams packed_params() {
    AttentionParams params;
    params.layout = Layout::packed;
    params.mask.kinds = {MaskKind::causal, MaskKind::documents};
    params.mask.cu_seqlens_q = params.mask.cu_seqlens_k = ints({0, 3, 7});
    params.mask.max_seqlen_q = params.mask.max_seqlen_k = 4;
    return params;
}

}  // namespace

TEST_CASE("attention: outputs and gradients are the reference's in every gradient mode") {
    const auto mode = GENERATE(GradientMode::kernel, GradientMode::differentiable, GradientMode::recompute);
    const FakeAttention fake(mode);
    const AttentionOp op = bound(fake, padded_request());
    AttentionParams params;
    params.mask.kinds = {MaskKind::causal, MaskKind::key_lengths, MaskKind::dense_bias,
                         MaskKind::relative_bias};
    params.mask.key_lengths = ints({5, 3});
    params.dropout = {0.2, 4};
    params.want_lse = true;
    const std::vector<at::Tensor> inputs{leaf({2, 4, 5, 8}, 1), leaf({2, 2, 5, 8}, 2), leaf({2, 2, 5, 6}, 3),
                                         leaf({8, 4}, 4), leaf({1, 4, 5, 5}, 5)};
    const auto difference = test::compare(
        [&](const auto& i) {
            const auto made = op({i[0], i[1], i[2], i[3], i[4]}, params);
            CHECK_FALSE(made.lse.requires_grad());
            return std::vector<at::Tensor>{made.out, made.lse};
        },
        [&](const auto& i) {
            const auto made = reference::attention({i[0], i[1], i[2], i[3], i[4]}, params);
            return std::vector<at::Tensor>{made.out, made.lse.detach()};
        },
        inputs);
    CHECK(difference.outputs == 0.0);
    CHECK(difference.gradients < 1e-13);
    CHECK(op.binding().executed().calls() == std::map<std::string, std::uint64_t>{{"test", 1}});
}

TEST_CASE("attention: packed, and one tensor as queries, keys and values") {
    const auto mode = GENERATE(GradientMode::kernel, GradientMode::recompute);
    const FakeAttention fake(mode);
    AttentionRequest request = packed_request();
    request.kv_heads = 4;
    request.v_head_dim = 8;
    const AttentionOp op = bound(fake, request);
    const auto difference = test::compare(
        [&](const auto& i) {
            return std::vector<at::Tensor>{op({i[0], i[0], i[0], {}, {}}, packed_params()).out};
        },
        [&](const auto& i) {
            return std::vector<at::Tensor>{
                reference::attention({i[0], i[0], i[0], {}, {}}, packed_params()).out};
        },
        {leaf({7, 4, 8}, 1)});
    CHECK(difference.outputs == 0.0);
    CHECK(difference.gradients < 1e-13);
}

TEST_CASE("attention: changing a mask's lengths between forward and backward is an error") {
    const FakeAttention fake(GradientMode::kernel);
    const AttentionOp op = bound(fake, packed_request());
    const AttentionParams params = packed_params();
    const at::Tensor q = leaf({7, 4, 8}, 1), k = leaf({7, 2, 8}, 2), v = leaf({7, 2, 6}, 3);
    const at::Tensor out = op({q, k, v, {}, {}}, params).out;
    params.mask.cu_seqlens_q.add_(1);
    CHECK_THROWS_WITH(torch::autograd::grad({out.sum()}, {q}),
                      test::contains("attention.cross (plugin 'fake', component 'made')") &&
                          test::contains("changed in place"));
}

TEST_CASE("attention: a component bound without gradients refuses them") {
    const FakeAttention fake(GradientMode::kernel);
    AttentionRequest request = padded_request();
    request.needs_grad = false;
    const AttentionOp op = bound(fake, request);
    const AttentionInputs in{leaf({1, 4, 2, 8}, 1), leaf({1, 2, 2, 8}, 2), leaf({1, 2, 2, 6}, 3), {}, {}};
    CHECK_THROWS_WITH(op(in, {}),
                      test::contains("a gradient is needed for q, k, v, and it is bound for calls without"));
    const c10::AutoGradMode no_grad(false);
    CHECK(at::equal(op(in, {}).out, reference::attention(in, {}).out));
}

TEST_CASE("attention: padded calls that do not fit are errors with their values") {
    const FakeAttention fake(GradientMode::kernel, "acme", "fast");
    const AttentionOp op = bound(fake, padded_request());
    AttentionInputs in{leaf({2, 4, 5, 8}, 1), leaf({2, 2, 5, 8}, 2), leaf({2, 2, 5, 6}, 3), {}, {}};
    AttentionParams params;
    std::string expected;
    SECTION("no q") {
        in.q.reset();
        expected = "q is not given";
    }
    SECTION("dtype") {
        in.k = in.k.to(at::kFloat);
        expected = "k is Float, bound for float64";
    }
    SECTION("dimensions") {
        in.q = leaf({5, 4, 8}, 1);
        expected =
            "q, k and v must be [batch, heads, length, head_dim] in the padded layout, got [5, 4, 8], [2, 2, "
            "5, 8] and [2, 2, 5, 6]";
    }
    SECTION("heads that are no multiple") {
        in.k = leaf({2, 3, 5, 8}, 2);
        in.v = leaf({2, 3, 5, 6}, 3);
        expected = "heads (4) must be a multiple of kv heads (3)";
    }
    SECTION("heads that it is not bound for") {
        in.q = leaf({2, 6, 5, 8}, 1);
        expected = "heads is 6, bound for 4";
    }
    SECTION("length") {
        in.q = leaf({2, 4, 17, 8}, 1);
        expected = "q_length is 17, bound for 1..16";
    }
    SECTION("head_dim") {
        in.q = leaf({2, 4, 5, 7}, 1);
        expected = "head_dim of q (7) and of k (8) differ";
    }
    SECTION("k and v") {
        in.v = leaf({2, 2, 4, 6}, 3);
        expected = "k [2, 2, 5, 8] and v [2, 2, 4, 6] may only differ in their last dimension";
    }
    SECTION("layout") {
        params = packed_params();
        expected = "the layout is packed, bound for padded";
    }
    SECTION("masks") {
        params.mask.kinds = {MaskKind::causal, MaskKind::soft_cap};
        expected = "the masks are causal, soft_cap, bound for causal, key_lengths, relative_bias, dense_bias";
    }
    SECTION("key_lengths missing") {
        params.mask.kinds = {MaskKind::key_lengths};
        expected = "key_lengths must be int32 [2], one a sequence";
    }
    SECTION("key_lengths too large") {
        params.mask.kinds = {MaskKind::key_lengths};
        params.mask.key_lengths = ints({5, 6});
        expected = "key_lengths[1] is 6, expected 0..5";
    }
    SECTION("key_lengths too large, in every other place of a tensor") {
        params.mask.kinds = {MaskKind::key_lengths};
        params.mask.key_lengths = ints({5, 0, 6, 0}).reshape({2, 2}).select(1, 0);
        expected = "key_lengths[1] is 6, expected 0..5";
    }
    SECTION("relative bias") {
        params.mask.kinds = {MaskKind::relative_bias};
        in.relative_bias = leaf({8, 3}, 4);
        expected = "relative_bias must be [buckets, 4]";
    }
    SECTION("too few buckets") {
        params.mask.kinds = {MaskKind::relative_bias};
        in.relative_bias = leaf({2, 4}, 4);
        expected = "relative_bias has 2 buckets: at least 4 are needed, 2 for the keys on each side";
    }
    SECTION("a largest distance among those with a bucket each") {
        params.mask.kinds = {MaskKind::relative_bias};
        params.mask.relative_max_distance = 8;
        in.relative_bias = leaf({32, 4}, 4);
        expected =
            "relative_max_distance is 8: it must be above 8, for of 32 buckets that many are for one "
            "distance each";
    }
    SECTION("pages") {
        const PagedCache pages;
        params.pages = &pages;
        expected = "bound for keys without a paged cache";
        CHECK_THROWS_WITH(
            op(in, params),
            Catch::Matchers::Equals("attention.cross (plugin 'acme', component 'fast'): " + expected));
    }
    const bool dangling = params.pages != nullptr;
    if (!dangling) {
        CHECK_THROWS_WITH(
            op(in, params),
            Catch::Matchers::Equals("attention.cross (plugin 'acme', component 'fast'): " + expected));
    }
    CHECK(op.binding().executed().total() == 0);
}

TEST_CASE("attention: what a call may give by its request it may, and else the field is named") {
    const FakeAttention fake(GradientMode::kernel, "acme", "fast");
    const AttentionInputs in{leaf({2, 4, 3, 8}, 1), leaf({2, 2, 5, 8}, 2), leaf({2, 2, 5, 6}, 3), {}, {}};
    AttentionRequest without = padded_request();
    AttentionParams params;
    params.mask.kinds = {MaskKind::causal};
    std::string expected;
    SECTION("offsets") {
        without.query_offsets = false;
        params.mask.query_offsets = ints({0, 1});
        expected = "query_offsets are given, bound for calls without them";
    }
    SECTION("offsets of zero are offsets") {
        without.query_offsets = false;
        params.mask.query_offsets = ints({0, 0});
        expected = "query_offsets are given, bound for calls without them";
    }
    SECTION("scale") {
        without.custom_scale = false;
        params.scale = 0.25;
        expected = "scale is 0.25, bound for 1 / sqrt(head_dim) (custom_scale is false)";
    }
    SECTION("log-sum-exp") {
        without.want_lse = false;
        params.want_lse = true;
        expected = "want_lse is true, bound for calls without it";
    }
    CHECK_THROWS_WITH(
        bound(fake, without)(in, params),
        Catch::Matchers::Equals("attention.cross (plugin 'acme', component 'fast'): " + expected));
    const auto made = bound(fake, padded_request())(in, params);
    const auto right = reference::attention(in, params);
    CHECK(at::equal(made.out, right.out));
    CHECK(made.lse.defined() == params.want_lse);
    // A request that allows it takes calls that do not use it.
    CHECK_NOTHROW(bound(fake, padded_request())(in, {}));
}

TEST_CASE("attention: packed calls that do not fit are errors with their values") {
    const FakeAttention fake(GradientMode::kernel, "acme", "fast");
    const AttentionOp op = bound(fake, packed_request());
    const AttentionInputs in{leaf({7, 4, 8}, 1), leaf({7, 2, 8}, 2), leaf({7, 2, 6}, 3), {}, {}};
    AttentionParams params = packed_params();
    std::string expected;
    SECTION("no start") {
        params.mask.cu_seqlens_q = ints({1, 3, 7});
        expected = "cu_seqlens_q must start at 0, got 1";
    }
    SECTION("decreasing") {
        params.mask.cu_seqlens_k = ints({0, 8, 7});
        expected = "cu_seqlens_k must not decrease, but entry 2 is 7 after 8";
    }
    SECTION("no end") {
        params.mask.cu_seqlens_q = ints({0, 3, 6});
        expected = "cu_seqlens_q must end at the total of 7, got 6";
    }
    SECTION("another dtype") {
        params.mask.cu_seqlens_q = params.mask.cu_seqlens_q.to(at::kLong);
        expected = "cu_seqlens_q must be int32 [sequences + 1]";
    }
    SECTION("another number of sequences") {
        params.mask.cu_seqlens_k = ints({0, 7});
        expected = "cu_seqlens_q has 3 entries, cu_seqlens_k 2";
    }
    SECTION("longer than bound for") {
        params.mask.max_seqlen_q = 40;
        expected = "q_length is 40, bound for 1..16";
    }
    CHECK_THROWS_WITH(op(in, params), Catch::Matchers::Equals(
                                          "attention.cross (plugin 'acme', component 'fast'): " + expected));
}

TEST_CASE("attention: a bias of pages has one key, or those of the longest sequence") {
    const FakeAttention fake(GradientMode::kernel, "acme", "fast");
    AttentionRequest request = padded_request();
    request.needs_grad = false;
    request.paged_cache = true;
    const AttentionOp op = bound(fake, request);
    PagedCache pages;
    pages.k_pages = leaf({4, 4, 2, 8}, 2).detach();
    pages.v_pages = leaf({4, 4, 2, 6}, 3).detach();
    pages.block_table = ints({0, 1, 2, 3}).view({2, 2});
    pages.lengths = ints({3, 6});
    AttentionParams params;
    params.mask.kinds = {MaskKind::dense_bias};
    params.pages = &pages;
    AttentionInputs in{leaf({2, 4, 1, 8}, 1).detach(), {}, {}, {}, {}};
    for (const std::int64_t width : {1, 6, 8}) {
        in.dense_bias = leaf({2, 4, 1, width}, 4).detach();
        const auto made = op(in, params);
        CHECK(made.out.allclose(reference::attention(in, params).out));
    }
    in.dense_bias = leaf({2, 4, 1, 5}, 4).detach();
    CHECK_THROWS_WITH(
        op(in, params),
        Catch::Matchers::Equals(
            "attention.cross (plugin 'acme', component 'fast'): dense_bias has 5 keys, expected "
            "1 or at least 6, the longest of the paged cache's lengths"));
}

TEST_CASE("attention: a component that returns something else is told so") {
    class Wrong final : public Attention {
    public:
        using Attention::Attention;
        AttentionOutputs forward(const AttentionInputs& in, const AttentionParams&, Saved*) override {
            return {in.q, {}};
        }
    };
    const FakeComponent<Attention, Wrong> fake(GradientMode::kernel, "acme", "wrong");
    runtime::BindingInfo info;
    info.slot = "attention";
    info.request = std::make_shared<AttentionRequest>(padded_request());
    const AttentionOp op(fake.loaded(), info);
    CHECK_THROWS_WITH(
        op({leaf({2, 4, 5, 8}, 1), leaf({2, 2, 5, 8}, 2), leaf({2, 2, 5, 6}, 3), {}, {}}, {}),
        Catch::Matchers::Equals(
            "plugin 'acme', component 'wrong', attention.forward: returned out Double [2, 4, 5, 8] for "
            "q Double [2, 4, 5, 8] and v_head_dim 6, and no lse where none was asked for"));
}
