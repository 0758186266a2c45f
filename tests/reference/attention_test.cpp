// The reference of attention against PyTorch's results (tests/fixtures), and what follows from its
// definition.
// To add a case: add it to attention() in tests/fixtures/make_fixtures.py; gradients of a new option go to
// attention_gradient_test.cpp.
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <switchyard/conformance/differentiate.h>
#include <switchyard/interfaces/relative_buckets.h>
#include <switchyard/reference/attention.h>
#include <switchyard/reference/attention_mask.h>
#include <switchyard/reference/dropout_mask.h>

#include "check.h"
#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::difference;
using test::normal;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

AttentionParams params_of(const test::FixtureCase& c) {
    AttentionParams params;
    params.scale = c.numbers.value("scale", 0.0);
    params.want_lse = c["lse"].defined();
    AttentionMask& mask = params.mask;
    for (const std::string kind : c.numbers.at("kinds")) mask.kinds.insert(*parse<MaskKind>(kind));
    if (c.numbers.contains("window")) {
        mask.window_left = c.numbers["window"][0];
        mask.window_right = c.numbers["window"][1];
    }
    mask.key_lengths = c["key_lengths"];
    mask.query_offsets = c["offsets"];
    mask.prefix_lengths = c["prefix_lengths"];
    mask.alibi_slopes = c["alibi_slopes"];
    mask.soft_cap = c.numbers.value("soft_cap", 0.0);
    mask.relative_bidirectional = c.numbers.value("bidirectional", true);
    mask.relative_max_distance = c.numbers.value("max_distance", 128);
    mask.cu_seqlens_q = c["packed_cu_seqlens_q"];
    mask.cu_seqlens_k = c["packed_cu_seqlens_k"];
    if (c.numbers.value("packed", false)) params.layout = Layout::packed;
    return params;
}

AttentionInputs inputs_of(const test::FixtureCase& c, const AttentionParams& params) {
    const std::string prefix = params.layout == Layout::packed ? "packed_" : "";
    AttentionInputs in{conformance::leaf(c[prefix + "q"]),
                       conformance::leaf(c[prefix + "k"]),
                       conformance::leaf(c[prefix + "v"]),
                       {},
                       {}};
    if (params.mask.kinds.has(MaskKind::relative_bias))
        in.relative_bias = conformance::leaf(c["relative_bias"]);
    if (params.mask.kinds.has(MaskKind::dense_bias)) in.dense_bias = conformance::leaf(c["dense_bias"]);
    return in;
}

AttentionInputs random_inputs(std::int64_t batch, std::int64_t heads, std::int64_t kv_heads,
                              std::int64_t queries, std::int64_t keys) {
    return {normal({batch, heads, queries, 8}, 1),
            normal({batch, kv_heads, keys, 8}, 2),
            normal({batch, kv_heads, keys, 6}, 3),
            {},
            {}};
}

}  // namespace

TEST_CASE("attention agrees with PyTorch in values and gradients") {
    for (const auto& c : test::load_fixture("attention")) {
        INFO(c.name);
        const AttentionParams params = params_of(c);
        const AttentionInputs in = inputs_of(c, params);
        const AttentionOutputs out = reference::attention(in, params);
        CHECK(difference(out.out, c["out"]) < 1e-13);
        if (params.want_lse) CHECK(difference(out.lse, c["lse"]) < 1e-13);
        const at::Tensor grad_out = c[params.layout == Layout::packed ? "packed_grad_out" : "grad_out"];
        const auto grads = conformance::differentiate({out.out}, {grad_out},
                                                      {in.q, in.k, in.v, in.relative_bias, in.dense_bias});
        const char* names[] = {"grad_q", "grad_k", "grad_v", "grad_relative_bias", "grad_dense_bias"};
        for (std::size_t i = 0; i < grads.size(); ++i) {
            INFO(names[i]);
            CHECK(grads[i].defined() == c[names[i]].defined());
            if (grads[i].defined()) CHECK(difference(grads[i], c[names[i]]) < 1e-13);
        }
    }
}

TEST_CASE("relative-bias buckets are those of the published formula") {
    for (const auto& c : test::load_fixture("relative_buckets")) {
        INFO(c.name);
        const auto found =
            reference::relative_buckets(c["distance"], c.numbers.at("buckets"), c.numbers.at("bidirectional"),
                                        c.numbers.at("max_distance"));
        CHECK(found.equal(c["bucket"]));
    }
}

TEST_CASE("a bucketing is refused just where a distance would get a bucket that there is not") {
    for (const bool bidirectional : {true, false}) {
        for (std::int64_t buckets = 0; buckets < 20; ++buckets) {
            for (std::int64_t most = -2; most < 30; ++most) {
                INFO(buckets << " buckets, " << most << ", " << (bidirectional ? "both sides" : "one side"));
                const std::int64_t side = bidirectional ? buckets / 2 : buckets;
                const bool possible = side >= 2 && most > side / 2;
                CHECK(fault_of_relative_buckets(buckets, bidirectional, most).empty() == possible);
                if (!possible) continue;
                for (std::int64_t distance = -100; distance <= 100; ++distance) {
                    const auto bucket = reference::relative_bucket(distance, buckets, bidirectional, most);
                    const std::int64_t first = bidirectional && distance > 0 ? side : 0;
                    const std::int64_t n =
                        bidirectional ? std::abs(distance) : std::max<std::int64_t>(-distance, 0);
                    CHECK(bucket >= first);
                    CHECK(bucket < first + side);
                    if (n < side / 2) CHECK(bucket == first + n);
                    if (n >= most) CHECK(bucket == first + side - 1);
                }
            }
        }
    }
}

TEST_CASE("a query that sees no key gives zeros, lse of minus infinity and zero gradients") {
    AttentionInputs in = random_inputs(2, 4, 2, 5, 5);
    in.q = conformance::leaf(in.q);
    in.k = conformance::leaf(in.k);
    in.v = conformance::leaf(in.v);
    AttentionParams params;
    params.want_lse = true;
    params.mask.kinds = {MaskKind::causal, MaskKind::key_lengths};
    params.mask.key_lengths = at::tensor({0, 4}, at::kInt);
    params.mask.query_offsets = at::tensor({0, -2}, at::kInt);
    const AttentionOutputs out = reference::attention(in, params);
    CHECK(out.out[0].abs().max().item<double>() == 0.0);
    CHECK(out.out[1].narrow(1, 0, 2).abs().max().item<double>() == 0.0);
    CHECK(out.out[1].narrow(1, 2, 3).abs().min().item<double>() > 0.0);
    CHECK(out.lse[0].eq(-std::numeric_limits<double>::infinity()).all().item<bool>());
    const auto grads =
        conformance::differentiate({out.out}, {normal(out.out.sizes(), 4)}, {in.q, in.k, in.v});
    for (const at::Tensor& grad : grads) {
        CHECK(grad.isfinite().all().item<bool>());
        CHECK(grad[0].abs().max().item<double>() == 0.0);
    }
    CHECK(grads[0][1].narrow(1, 0, 2).abs().max().item<double>() == 0.0);
}

TEST_CASE("a dense bias of minus infinity hides like a mask") {
    AttentionInputs in = random_inputs(1, 2, 2, 3, 4);
    in.dense_bias = at::full({1, 1, 3, 4}, 0.0, at::kDouble);
    in.dense_bias[0][0][1].fill_(-std::numeric_limits<double>::infinity());
    AttentionParams params;
    params.mask.kinds = {MaskKind::dense_bias};
    const at::Tensor out = reference::attention(in, params).out;
    CHECK(out.isfinite().all().item<bool>());
    CHECK(out.select(2, 1).abs().max().item<double>() == 0.0);
}

TEST_CASE("keys past the lengths are not read, even when they are NaN") {
    AttentionInputs in = random_inputs(2, 2, 1, 3, 6);
    AttentionParams params;
    params.mask.kinds = {MaskKind::key_lengths};
    params.mask.key_lengths = at::tensor({2, 6}, at::kInt);
    const at::Tensor clean = reference::attention(in, params).out;
    in.k[0].narrow(1, 2, 4).fill_(not_a_number);
    in.v[0].narrow(1, 2, 4).fill_(not_a_number);
    CHECK(reference::attention(in, params).out.equal(clean));
}

TEST_CASE("lengths of zero and one are served") {
    for (const auto& [batch, queries, keys] :
         {std::tuple{1, 0, 3}, {1, 3, 0}, {0, 2, 2}, {2, 1, 1}, {1, 0, 0}}) {
        INFO(batch << " " << queries << " " << keys);
        AttentionInputs in = random_inputs(batch, 4, 2, queries, keys);
        AttentionParams params;
        params.want_lse = true;
        params.mask.kinds = {MaskKind::causal};
        const AttentionOutputs out = reference::attention(in, params);
        CHECK(out.out.sizes() == at::IntArrayRef({batch, 4, queries, 6}));
        CHECK(out.lse.sizes() == at::IntArrayRef({batch, 4, queries}));
        if (queries == 1) CHECK(difference(out.out, in.v.repeat_interleave(2, 1)) < 1e-15);
        if (keys == 0 && queries > 0) CHECK(out.out.abs().max().item<double>() == 0.0);
    }
    AttentionParams packed;
    packed.layout = Layout::packed;
    packed.mask.cu_seqlens_q = packed.mask.cu_seqlens_k = at::tensor({0}, at::kInt);
    CHECK(reference::attention({normal({0, 4, 8}, 1), normal({0, 2, 8}, 1), normal({0, 2, 6}, 1), {}, {}},
                               packed)
              .out.sizes() == at::IntArrayRef({0, 4, 6}));
}

TEST_CASE("dropout multiplies the probabilities by the generator's mask") {
    const AttentionInputs in = random_inputs(2, 4, 2, 5, 70);
    AttentionParams params;
    params.dropout = {0.4, 77};
    params.mask.first_document = 9;
    at::Tensor p = in.q.matmul(in.k.repeat_interleave(2, 1).transpose(2, 3)).div(std::sqrt(8.0)).softmax(-1);
    const at::Tensor probabilities = p.contiguous();
    auto value = probabilities.accessor<double, 4>();
    for (std::uint32_t b = 0; b < 2; ++b)
        for (std::uint32_t h = 0; h < 4; ++h)
            for (std::uint32_t i = 0; i < 5; ++i)
                for (std::uint32_t j = 0; j < 70; ++j)
                    value[b][h][i][j] *=
                        dropout_keeps(params.dropout, {9 + b, h, i, j}) ? params.dropout.keep_scale() : 0.0;
    CHECK(difference(reference::attention(in, params).out,
                     probabilities.matmul(in.v.repeat_interleave(2, 1))) < 1e-13);
}

TEST_CASE("packed sequences give what each gives by itself, with every mask and dropout") {
    AttentionParams packed;
    packed.layout = Layout::packed;
    packed.want_lse = true;
    packed.dropout = {0.2, 5};
    AttentionMask& mask = packed.mask;
    mask.kinds = {MaskKind::documents, MaskKind::causal,   MaskKind::sliding_window, MaskKind::prefix,
                  MaskKind::alibi,     MaskKind::soft_cap, MaskKind::relative_bias};
    mask.window_left = 3;
    mask.prefix_lengths = at::tensor({2, 0, 1}, at::kInt);
    mask.alibi_slopes = at::tensor({0.5F, 0.1F});
    mask.soft_cap = 2.0;
    mask.cu_seqlens_q = at::tensor({0, 4, 5, 9}, at::kInt);
    mask.cu_seqlens_k = at::tensor({0, 6, 9, 13}, at::kInt);
    const AttentionInputs in{
        normal({9, 2, 8}, 1), normal({13, 1, 8}, 2), normal({13, 1, 8}, 3), normal({6, 2}, 4), {}};
    const AttentionOutputs all = reference::attention(in, packed);

    const std::int64_t q_begin[] = {0, 4, 5, 9}, k_begin[] = {0, 6, 9, 13};
    for (std::int64_t s = 0; s < 3; ++s) {
        const auto sequence = [&](const at::Tensor& x, const std::int64_t* begin) {
            return x.narrow(0, begin[s], begin[s + 1] - begin[s]).transpose(0, 1).unsqueeze(0);
        };
        AttentionParams padded = packed;
        padded.layout = Layout::padded;
        padded.mask.kinds.erase(MaskKind::documents);
        padded.mask.prefix_lengths = mask.prefix_lengths.narrow(0, s, 1);
        padded.mask.first_document = s;
        const AttentionOutputs one = reference::attention(
            {sequence(in.q, q_begin), sequence(in.k, k_begin), sequence(in.v, k_begin), in.relative_bias, {}},
            padded);
        CHECK(difference(sequence(all.out, q_begin), one.out) < 1e-14);
        CHECK(difference(all.lse.narrow(0, q_begin[s], q_begin[s + 1] - q_begin[s]).t().unsqueeze(0),
                         one.lse) < 1e-14);
    }
}

TEST_CASE("a paged cache gives what the same keys give in one piece") {
    // Two sequences of 5 and 3 keys in pages of 2, out of order; every place that holds no key is NaN.
    PagedCache cache;
    cache.k_pages = at::full({6, 2, 2, 8}, not_a_number, at::kDouble);
    cache.v_pages = at::full({6, 2, 2, 6}, not_a_number, at::kDouble);
    cache.block_table = at::tensor({4, 0, 2, 5, 1, 99}, at::kInt).view({2, 3});
    cache.lengths = at::tensor({5, 3}, at::kInt);
    const AttentionInputs whole = random_inputs(2, 4, 2, 2, 5);
    for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t j = 0; j < (b == 0 ? 5 : 3); ++j) {
            const auto page = cache.block_table[b][j / 2].item<std::int64_t>();
            cache.k_pages[page][j % 2].copy_(whole.k[b].select(1, j));
            cache.v_pages[page][j % 2].copy_(whole.v[b].select(1, j));
        }
    }
    AttentionParams contiguous;
    contiguous.want_lse = true;
    contiguous.mask.kinds = {MaskKind::causal, MaskKind::key_lengths};
    contiguous.mask.key_lengths = cache.lengths;
    contiguous.mask.query_offsets = at::tensor({3, 1}, at::kInt);
    const AttentionOutputs expected = reference::attention(whole, contiguous);

    AttentionParams paged;
    paged.want_lse = true;
    paged.pages = &cache;
    paged.mask.kinds = {MaskKind::causal};
    const AttentionOutputs found = reference::attention({whole.q, {}, {}, {}, {}}, paged);
    CHECK(difference(found.out, expected.out) < 1e-14);
    CHECK(difference(found.lse, expected.lse) < 1e-14);

    paged.layout = Layout::packed;
    paged.mask.cu_seqlens_q = at::tensor({0, 2, 4}, at::kInt);
    const at::Tensor packed =
        reference::attention({whole.q.transpose(1, 2).reshape({4, 4, 8}), {}, {}, {}, {}}, paged).out;
    CHECK(difference(packed.view({2, 2, 4, 6}).transpose(1, 2), expected.out) < 1e-14);
}

TEST_CASE("no sequences give empty tensors and gradients of zero, packed and in pages") {
    const auto [packed, in_pages] =
        GENERATE(std::pair(true, false), std::pair(true, true), std::pair(false, true));
    const bool want_lse = GENERATE(false, true);
    CAPTURE(packed, in_pages, want_lse);
    PagedCache cache;
    cache.k_pages = normal({2, 2, 2, 8}, 1);
    cache.v_pages = normal({2, 2, 2, 6}, 2);
    cache.block_table = at::zeros({0, 1}, at::kInt);
    cache.lengths = at::zeros({0}, at::kInt);
    AttentionInputs in = random_inputs(0, 4, 2, 3, 3);
    if (packed) in = {normal({0, 4, 8}, 1), normal({0, 2, 8}, 2), normal({0, 2, 6}, 3), {}, {}};
    in.q = conformance::leaf(in.q);
    in.relative_bias = conformance::leaf(normal({8, 4}, 4));
    if (in_pages) in.k = in.v = at::Tensor();
    AttentionParams params;
    if (packed) params.layout = Layout::packed;
    params.want_lse = want_lse;
    params.mask.kinds = {MaskKind::relative_bias};
    if (in_pages) params.pages = &cache;
    params.mask.cu_seqlens_q = params.mask.cu_seqlens_k = at::zeros({1}, at::kInt);
    const AttentionOutputs made = reference::attention(in, params);
    const std::vector<std::int64_t> sizes =
        packed ? std::vector<std::int64_t>{0, 4, 6} : std::vector<std::int64_t>{0, 4, 3, 6};
    CHECK(made.out.sizes() == at::IntArrayRef(sizes));
    REQUIRE(made.lse.defined() == want_lse);
    if (want_lse) {
        CHECK(made.lse.sizes() == made.out.sizes().slice(0, made.out.dim() - 1));
        CHECK(made.lse.scalar_type() == at::kDouble);
    }
    made.out.sum().backward();
    CHECK(in.q.grad().sizes() == in.q.sizes());
    CHECK(in.relative_bias.grad().eq(0).all().item<bool>());
}

TEST_CASE("the output is dense in q's order of strides") {
    AttentionInputs in = random_inputs(2, 4, 2, 5, 5);
    in.q = normal({2, 5, 4, 8}, 1).transpose(1, 2);
    const at::Tensor out = reference::attention(in, {}).out;
    CHECK(out.transpose(1, 2).is_contiguous());
    CHECK(reference::attention(random_inputs(2, 4, 2, 5, 5), {}).out.is_contiguous());
}

TEST_CASE("16-bit attention keeps scores and softmax in float32") {
    const AttentionInputs in = random_inputs(1, 2, 2, 64, 512);
    for (const auto type : {at::kBFloat16, at::kHalf, at::kFloat}) {
        AttentionParams params;
        params.want_lse = true;
        const AttentionInputs low{in.q.to(type), in.k.to(type), in.v.to(type), {}, {}};
        const AttentionInputs high{
            low.q.to(at::kDouble), low.k.to(at::kDouble), low.v.to(at::kDouble), {}, {}};
        const AttentionOutputs found = reference::attention(low, params),
                               expected = reference::attention(high, params);
        CHECK(found.out.scalar_type() == type);
        CHECK(found.lse.scalar_type() == at::kFloat);
        CHECK(difference(found.out, expected.out) < 1e-2);
        CHECK(difference(found.lse, expected.lse) < 1e-6);
    }
}

TEST_CASE("attention names the values that do not fit") {
    AttentionInputs in = random_inputs(2, 3, 2, 5, 5);
    CHECK_THROWS_WITH(reference::attention(in, {}),
                      "attention: heads (3) must be a multiple of kv heads (2 in k [2, 2, 5, 8])");
    in = random_inputs(2, 4, 2, 5, 5);
    in.k = normal({2, 2, 5, 7}, 1);
    CHECK_THROWS_WITH(reference::attention(in, {}),
                      "attention: head_dim of q [2, 4, 5, 8] and of k [2, 2, 5, 7] differ");
    AttentionParams params;
    params.mask.kinds = {MaskKind::key_lengths};
    in = random_inputs(2, 4, 2, 5, 5);
    CHECK_THROWS_WITH(reference::attention(in, params),
                      "attention: key_lengths is part of the mask but is not given");

    params.mask.kinds = {MaskKind::relative_bias};
    in.relative_bias = normal({3, 4}, 4);
    CHECK_THROWS_WITH(
        reference::attention(in, params),
        "attention: relative_bias has 3 buckets: at least 4 are needed, 2 for the keys on each side");
    params.mask.relative_bidirectional = false;
    params.mask.relative_max_distance = 1;
    CHECK_THROWS_WITH(
        reference::attention(in, params),
        "attention: relative_max_distance is 1: it must be above 1, for of 3 buckets that many are for "
        "one distance each");
    in.relative_bias = normal({1, 4}, 4);
    CHECK_THROWS_WITH(reference::attention(in, params),
                      "attention: relative_bias has 1 bucket: at least 2 are needed");

    AttentionParams packed;
    packed.layout = Layout::packed;
    const AttentionInputs flat{normal({9, 2, 8}, 1), normal({9, 1, 8}, 2), normal({9, 1, 8}, 3), {}, {}};
    packed.mask.cu_seqlens_k = at::tensor({0, 9}, at::kInt);
    packed.mask.cu_seqlens_q = at::tensor({1, 9}, at::kInt);
    CHECK_THROWS_WITH(reference::attention(flat, packed), "attention: cu_seqlens_q must start at 0, got 1");
    packed.mask.cu_seqlens_q = at::tensor({0, 5, 4, 9}, at::kInt);
    CHECK_THROWS_WITH(reference::attention(flat, packed),
                      "attention: cu_seqlens_q must not decrease, but entry 2 is 4 after 5");
    packed.mask.cu_seqlens_q = at::tensor({0, 8}, at::kInt);
    CHECK_THROWS_WITH(reference::attention(flat, packed),
                      "attention: cu_seqlens_q must end at the total of 9, got 8");
    packed.mask.cu_seqlens_q = at::tensor({0, 4, 9}, at::kInt);
    CHECK_THROWS_WITH(reference::attention(flat, packed),
                      "attention: cu_seqlens_q has 3 entries, cu_seqlens_k 2");
}
