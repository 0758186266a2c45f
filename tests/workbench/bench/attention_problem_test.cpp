// The bench's attention problems: what is counted as work, and parts that stand for the whole.
// To add a case: add a line to `problems()`.
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include <switchyard/reference/attention.h>
#include <switchyard/reference/attention_mask.h>
#include "core/workbench/bench/bench_attention.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::bench;

namespace {

struct Problem {
    const char* shape;
    std::vector<const char*> masks;
    const char* lengths = nullptr;
    double dropout = 0.0;
    bool offsets = false;
};

std::vector<Problem> problems() {
    return {
        {"2,4,9,8", {}},
        {"2,4,9,8", {"causal"}},
        {"3,4,2,5,9,8", {"causal"}},
        {"3,4,2,9,5,8", {"causal"}},
        {"2,4,16,8", {"sliding_window=3"}},
        {"2,4,16,8", {"causal", "sliding_window=3"}},
        {"2,4,16,8", {"causal", "sliding_window=3", "prefix=5"}},
        {"2,4,16,8", {"causal", "prefix=5"}},
        {"2,4,16,8", {"sliding_window=1", "prefix=20"}},
        {"4,2,16,8", {"causal"}, "0-16"},
        {"4,2,16,8", {"causal", "prefix=3", "sliding_window=2"}, "1-16"},
        {"2,4,12,8", {"alibi", "soft_cap=5", "relative_bias=8"}},
        {"2,4,12,8", {"dense_bias"}},
        {"2,4,12,8", {"causal"}, nullptr, 0.3},
        {"3,4,2,12,12,8", {"documents", "causal"}, "1-12"},
        {"3,4,2,5,12,8", {"documents", "causal", "prefix=2", "alibi"}},
        {"3,4,2,12,12,8", {"documents"}, "1-12", 0.3},
        {"4,4,2,1,16,8", {"causal"}, "1-16", 0.0, true},
        {"4,4,2,3,16,8", {"causal", "sliding_window=4"}, "2-16", 0.0, true},
        {"3,4,2,5,9,8", {"causal", "alibi"}, nullptr, 0.0, true},
    };
}

AttentionProblem make(const Problem& problem) {
    BenchSettings settings;
    settings.seed = 5;
    settings.dropout = problem.dropout;
    settings.query_offsets = problem.offsets;
    for (const char* mask : problem.masks) REQUIRE(read_mask(mask, settings).empty());
    if (problem.lengths != nullptr) REQUIRE(read_lengths(problem.lengths, settings.lengths).empty());
    const BenchShape shape = parse_shape(Kind::attention, problem.shape).shape.value();
    REQUIRE(check_settings(settings, shape).empty());
    return attention_problem(settings, shape, DType::float64);
}

// By the reference's own mask, sequence by sequence.
double pairs_by_reference(const AttentionProblem& problem) {
    double pairs = 0.0;
    for (std::size_t b = 0; b < problem.q_lengths.size(); ++b) {
        const std::int64_t N = problem.q_lengths[b];
        const bool packed = problem.params.layout == Layout::packed;
        const std::int64_t M = packed ? problem.k_lengths[b] : problem.keys_given;
        AttentionMask mask = problem.params.mask;
        reference::ScoreGeometry geometry;
        const std::int64_t first = mask.query_offsets.defined()
                                       ? mask.query_offsets[static_cast<std::int64_t>(b)].item<std::int64_t>()
                                       : M - N;
        geometry.position_BN = at::arange(first, first + N, at::kLong).unsqueeze(0);
        geometry.key_M = at::arange(M, at::kLong);
        if (mask.kinds.has(MaskKind::key_lengths))
            geometry.key_length_B = at::full({1}, problem.k_lengths[b], at::kLong);
        if (mask.kinds.has(MaskKind::prefix)) {
            geometry.prefix_length_B =
                mask.prefix_lengths.narrow(0, static_cast<std::int64_t>(b), 1).to(at::kLong);
        }
        mask.kinds.erase(MaskKind::documents);
        const at::Tensor visible = reference::visible(mask, geometry);
        pairs += visible.defined() ? visible.sum().item<double>() : static_cast<double>(N * M);
    }
    return pairs;
}

}  // namespace

TEST_CASE("the work that a mask leaves is what the reference's mask leaves") {
    for (const Problem& problem : problems()) {
        CAPTURE(problem.shape, problem.masks, problem.lengths);
        const AttentionProblem made = make(problem);
        CHECK(visible_pairs(made) == pairs_by_reference(made));
    }
}

TEST_CASE("a part of a problem gives the numbers that the whole gives there") {
    for (const Problem& problem : problems()) {
        CAPTURE(problem.shape, problem.masks, problem.lengths);
        const AttentionProblem whole = make(problem);
        const auto sequences = static_cast<std::int64_t>(whole.q_lengths.size());
        const bool dropout = problem.dropout > 0.0;
        const AttentionPart part{sequences - 1, 1, dropout ? 0 : whole.kv_heads - 1, 1};
        const at::Tensor out = reference::attention(whole.inputs, whole.params).out;
        const AttentionProblem small = part_of(whole, part);
        const at::Tensor part_out = reference::attention(small.inputs, small.params).out;
        CHECK(part_of(whole, part, "out", out).sizes() == part_out.sizes());
        CHECK(at::allclose(part_of(whole, part, "grad q", out), part_out, 1e-12, 1e-12));
    }
}

TEST_CASE("what is checked is the whole problem while it is small, and never nothing") {
    const AttentionProblem problem = make({"3,4,2,16,16,8", {"causal"}});
    CHECK(part_to_check(problem, 1 << 20).whole(problem));
    const AttentionPart least = part_to_check(problem, 1);
    CHECK(least.sequences == 1);
    CHECK(least.kv_heads == 1);
    CHECK(least.first_sequence == 2);
    CHECK(least.first_kv_head == 1);
    CHECK(part_to_check(make({"3,4,2,16,16,8", {}, nullptr, 0.1}), 1).first_kv_head == 0);
}

TEST_CASE("the same seed makes the same problem, another seed another") {
    BenchSettings settings;
    const BenchShape shape = parse_shape(Kind::attention, "1,2,8,4").shape.value();
    const at::Tensor first = attention_problem(settings, shape, DType::float32).inputs.q;
    CHECK(at::equal(attention_problem(settings, shape, DType::float32).inputs.q, first));
    CHECK_FALSE(at::equal(attention_problem(settings, shape, DType::float32).inputs.k, first));
    settings.seed = 2;
    CHECK_FALSE(at::equal(attention_problem(settings, shape, DType::float32).inputs.q, first));
}
