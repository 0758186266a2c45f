// What conformance does not see of torch's attention: which kernel ran, and that masks are built once. To add
// a case: a call, and the kernels that it runs (LibTorch's own answer, _fused_sdp_choice, is what the first
// test compares with).
#include "builtin.h"

#include <map>

#include <ATen/SDPBackend.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include <switchyard/interfaces/attention.h>
#include <switchyard/reference/attention.h>

#include <switchyard_test.h>

using namespace switchyard;
using Calls = std::map<std::string, std::uint64_t>;

namespace {

at::Tensor random(at::IntArrayRef sizes, at::ScalarType type = at::kFloat) {
    return at::randn(sizes, at::TensorOptions().dtype(type));
}

at::Tensor numbers(std::initializer_list<int> list) { return at::tensor(at::ArrayRef<int>(list), at::kInt); }

AttentionInputs inputs(std::int64_t queries = 6, std::int64_t keys = 6, at::ScalarType type = at::kFloat) {
    return {random({2, 4, queries, 8}, type),
            random({2, 2, keys, 8}, type),
            random({2, 2, keys, 8}, type),
            {},
            {}};
}

AttentionParams with_mask(MaskSet kinds) {
    AttentionParams params;
    params.mask.kinds = kinds;
    return params;
}

Calls calls_of(const AttentionInputs& in, const AttentionParams& params, const std::string& variant = "") {
    const AttentionRequest request;
    const auto attention = test::make<Attention>("torch", "torch", request, variant);
    attention->forward(in, params, nullptr);
    return attention.counter->calls();
}

bool close(const at::Tensor& a, const at::Tensor& b) { return a.allclose(b, 1e-4, 1e-5); }

}  // namespace

TEST_CASE("the kernel that LibTorch picks is the one that is counted") {
    for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
        for (const double dropout : {0.0, 0.1}) {
            const auto in = inputs(6, 6, type);
            AttentionParams params;
            params.dropout.p = dropout;
            const auto choice = static_cast<at::SDPBackend>(
                at::_fused_sdp_choice(in.q, in.k, in.v, {}, dropout, false, {}, true));
            const std::string expected = choice == at::SDPBackend::flash_attention ? "flash" : "math";
            CHECK(expected == (dropout > 0.0 ? "math" : "flash"));
            CHECK(calls_of(in, params) == Calls{{expected, 1}});
        }
    }
}

TEST_CASE("a gradient of the mask, other sizes of v and strided rows go through the math kernel") {
    auto in = inputs();
    in.dense_bias = random({2, 4, 6, 6});
    CHECK(calls_of(in, with_mask({MaskKind::dense_bias})) == Calls{{"flash", 1}});
    in.dense_bias.set_requires_grad(true);
    CHECK(calls_of(in, with_mask({MaskKind::dense_bias})) == Calls{{"math", 1}});
    in = inputs();
    in.v = random({2, 2, 6, 16});
    CHECK(calls_of(in, {}) == Calls{{"math", 1}});
    in = inputs();
    in.q = random({2, 4, 8, 6}).transpose(2, 3);
    CHECK(calls_of(in, {}) == Calls{{"math", 1}});
}

TEST_CASE("a kernel that was asked for by name runs") {
    CHECK(calls_of(inputs(), {}, "math") == Calls{{"math", 1}});
    CHECK(calls_of(inputs(), {}, "flash") == Calls{{"flash", 1}});
    auto strided = inputs();
    strided.q = random({2, 4, 8, 6}).transpose(2, 3);
    CHECK(calls_of(strided, {}, "flash") == Calls{{"flash", 1}});
}

TEST_CASE("packed sequences of one length are one call, others one call each") {
    AttentionInputs in{random({9, 4, 8}), random({9, 2, 8}), random({9, 2, 8}), {}, {}};
    auto params = with_mask({MaskKind::documents, MaskKind::causal});
    params.layout = Layout::packed;
    params.mask.cu_seqlens_q = params.mask.cu_seqlens_k = numbers({0, 3, 6, 9});
    CHECK(calls_of(in, params) == Calls{{"flash", 1}});
    params.mask.cu_seqlens_q = params.mask.cu_seqlens_k = numbers({0, 2, 2, 9});
    CHECK(calls_of(in, params) == Calls{{"flash", 2}, {"math", 1}});  // flash takes no empty sequence
}

TEST_CASE("a packed batch of no sequences gives an lse where one is asked for, and gradients of zero") {
    const AttentionRequest request;
    const auto attention = test::make<Attention>("torch", "torch", request);
    const auto type = GENERATE(at::kFloat, at::kDouble, at::kBFloat16);
    const AttentionInputs in{random({0, 4, 8}, type).set_requires_grad(true),
                             random({0, 2, 8}, type).set_requires_grad(true),
                             random({0, 2, 6}, type).set_requires_grad(true),
                             {},
                             {}};
    auto params = with_mask({MaskKind::documents});
    params.layout = Layout::packed;
    params.mask.cu_seqlens_q = params.mask.cu_seqlens_k = numbers({0});
    for (const bool want_lse : {false, true}) {
        params.want_lse = want_lse;
        const auto made = attention->forward(in, params, nullptr);
        CHECK(made.out.sizes() == at::IntArrayRef({0, 4, 6}));
        CHECK(made.out.scalar_type() == type);
        REQUIRE(made.lse.defined() == want_lse);
        if (want_lse) CHECK(made.lse.scalar_type() == (type == at::kDouble ? at::kDouble : at::kFloat));
        REQUIRE(made.out.requires_grad());
        made.out.sum().backward();
    }
    for (const auto& input : {in.q, in.k, in.v}) CHECK(input.grad().sizes() == input.sizes());
}

TEST_CASE("a mask follows its data when that is changed in place, replaced, or of another length") {
    const AttentionRequest request;
    const auto attention = test::make<Attention>("torch", "torch", request);
    const auto in = inputs();
    auto params = with_mask({MaskKind::key_lengths, MaskKind::causal});
    const auto right = [&](const AttentionInputs& given) {
        return close(attention->forward(given, params, nullptr).out, reference::attention(given, params).out);
    };
    params.mask.key_lengths = numbers({3, 6});
    CHECK(right(in));
    CHECK(right(in));
    params.mask.key_lengths.fill_(2);
    CHECK(right(in));
    params.mask.key_lengths = numbers({6, 1});
    CHECK(right(in));
    CHECK(right(inputs(4, 6)));
    CHECK(right(inputs(6, 9)));
    params.mask.kinds = {MaskKind::key_lengths};
    CHECK(right(in));
}

TEST_CASE("a relative bias is built anew where its table has a gradient, so that backward can run twice") {
    const AttentionRequest request;
    const auto attention = test::make<Attention>("torch", "torch", request);
    auto in = inputs();
    in.relative_bias = random({8, 4}).set_requires_grad(true);
    const auto params = with_mask({MaskKind::relative_bias});
    for (int layer = 0; layer < 2; ++layer) attention->forward(in, params, nullptr).out.sum().backward();
    CHECK(in.relative_bias.grad().defined());
}

TEST_CASE("packed lengths follow cu_seqlens when it is changed in place") {
    const AttentionRequest request;
    const auto attention = test::make<Attention>("torch", "torch", request);
    const AttentionInputs in{random({9, 4, 8}), random({9, 2, 8}), random({9, 2, 8}), {}, {}};
    auto params = with_mask({MaskKind::documents});
    params.layout = Layout::packed;
    params.mask.cu_seqlens_q = params.mask.cu_seqlens_k = numbers({0, 3, 9});
    CHECK(close(attention->forward(in, params, nullptr).out, reference::attention(in, params).out));
    params.mask.cu_seqlens_q[1] = 5;
    CHECK(close(attention->forward(in, params, nullptr).out, reference::attention(in, params).out));
}
