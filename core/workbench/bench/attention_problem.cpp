#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include "core/workbench/bench/bench_attention.h"
#include "core/workbench/bench/bench_tensors.h"
#include "core/workbench/bench/measure/philox_stream.h"

namespace switchyard::bench {

namespace {

using Lengths = std::vector<std::int64_t>;

Lengths draw_lengths(const BenchSettings& settings, std::int64_t batch, std::int64_t full) {
    Lengths lengths(static_cast<std::size_t>(batch), full);
    if (!settings.lengths) return lengths;
    PhiloxStream random(settings.seed, 2);
    if (settings.lengths->median > 0) {
        for (std::int64_t& length : lengths) length = settings.lengths->at(random.uniform());
        lengths.front() = settings.lengths->max;
        return lengths;
    }
    const auto span = static_cast<std::uint32_t>(settings.lengths->max - settings.lengths->min + 1);
    for (std::int64_t& length : lengths) length = settings.lengths->min + random.below(span);
    return lengths;
}

at::Tensor int32_tensor(const Lengths& values) {
    std::vector<std::int32_t> narrow(values.begin(), values.end());
    return at::tensor(narrow, at::kInt);
}

at::Tensor offsets_tensor(const Lengths& lengths) {
    Lengths offsets{0};
    for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
    return int32_tensor(offsets);
}

std::int64_t sum(const Lengths& lengths) {
    return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}
std::int64_t longest(const Lengths& lengths) { return *std::max_element(lengths.begin(), lengths.end()); }

void fill_mask(AttentionProblem& problem, const BenchSettings& settings) {
    AttentionMask& mask = problem.params.mask;
    mask.kinds = settings.masks();
    const auto sequences = problem.q_lengths.size();
    if (mask.kinds.has(MaskKind::key_lengths)) mask.key_lengths = int32_tensor(problem.k_lengths);
    if (settings.query_offsets && settings.layout == Layout::padded) {
        Lengths offsets;
        for (std::size_t i = 0; i < sequences; ++i)
            offsets.push_back(problem.k_lengths[i] - problem.q_lengths[i]);
        mask.query_offsets = int32_tensor(offsets);
    }
    if (mask.kinds.has(MaskKind::documents)) {
        mask.cu_seqlens_q = offsets_tensor(problem.q_lengths);
        mask.cu_seqlens_k = offsets_tensor(problem.k_lengths);
        mask.max_seqlen_q = longest(problem.q_lengths);
        mask.max_seqlen_k = longest(problem.k_lengths);
    }
    if (settings.window > 0) {
        mask.window_left = settings.window;
        mask.window_right = settings.causal ? 0 : settings.window;
    }
    if (settings.prefix > 0) mask.prefix_lengths = int32_tensor(Lengths(sequences, settings.prefix));
    if (settings.alibi) {
        const at::Tensor head = at::arange(1, problem.heads + 1, at::dtype(at::kFloat));
        mask.alibi_slopes = head.mul(-8.0 / static_cast<double>(problem.heads)).exp2();
    }
    mask.soft_cap = settings.soft_cap;
    mask.relative_bidirectional = !settings.causal;
}

// First and one past the last key that a query at position p sees, apart from the prefix.
std::pair<std::int64_t, std::int64_t> visible_range(const AttentionMask& mask, std::int64_t p,
                                                    std::int64_t keys) {
    std::int64_t first = 0, last = keys;
    if (mask.kinds.has(MaskKind::causal)) last = std::min(last, p + 1);
    if (mask.kinds.has(MaskKind::sliding_window)) {
        if (mask.window_left >= 0) first = std::max(first, p - mask.window_left);
        if (mask.window_right >= 0) last = std::min(last, p + mask.window_right + 1);
    }
    first = std::min(first, keys);
    return {first, std::max(first, last)};
}

at::Tensor narrow(const at::Tensor& tensor, std::int64_t dim, std::int64_t start, std::int64_t length) {
    return tensor.defined() ? tensor.narrow(dim, start, length) : tensor;
}

}  // namespace

AttentionProblem attention_problem(const BenchSettings& settings, const BenchShape& shape, DType dtype) {
    AttentionProblem problem;
    const bool packed = settings.layout == Layout::packed;
    const std::int64_t B = shape.batch, H = shape.heads, K = shape.kv_heads, N = shape.q_length,
                       M = shape.kv_length, D = shape.head_dim;
    problem.heads = H;
    problem.kv_heads = K;
    problem.keys_given = M;
    problem.k_lengths = draw_lengths(settings, B, M);
    problem.q_lengths =
        packed && settings.lengths ? problem.k_lengths : Lengths(static_cast<std::size_t>(B), N);

    const std::uint64_t seed = settings.seed;
    const std::int64_t T = sum(problem.q_lengths), S = sum(problem.k_lengths);
    const std::vector<std::int64_t> q_sizes =
        packed ? std::vector<std::int64_t>{T, H, D} : std::vector<std::int64_t>{B, H, N, D};
    const std::vector<std::int64_t> k_sizes =
        packed ? std::vector<std::int64_t>{S, K, D} : std::vector<std::int64_t>{B, K, M, D};
    problem.inputs.q = random_normal(q_sizes, dtype, seed, 0);
    problem.inputs.k = random_normal(k_sizes, dtype, seed, 1);
    problem.inputs.v = random_normal(k_sizes, dtype, seed, 2);
    problem.grad_out = random_normal(q_sizes, dtype, seed, 3);
    if (settings.relative_buckets > 0)
        problem.inputs.relative_bias = random_normal({settings.relative_buckets, H}, DType::float32, seed, 4);
    if (settings.dense_bias) problem.inputs.dense_bias = random_normal({1, H, N, M}, dtype, seed, 5);
    problem.params.layout = settings.layout;
    problem.params.dropout = {settings.dropout, seed};
    if (settings.custom_scale) problem.params.scale = 1.0 / std::sqrt(static_cast<double>(D));
    fill_mask(problem, settings);
    return problem;
}

double visible_pairs(const AttentionMask& mask, std::int64_t queries, std::int64_t keys, std::int64_t offset,
                     std::int64_t prefix) {
    if (!mask.kinds.has(MaskKind::causal) && !mask.kinds.has(MaskKind::sliding_window))
        return static_cast<double>(queries) * static_cast<double>(keys);
    prefix = std::clamp<std::int64_t>(prefix, 0, keys);
    double pairs = 0.0;
    for (std::int64_t i = 0; i < queries; ++i) {
        const auto [first, last] = visible_range(mask, i + offset, keys);
        const auto before = std::min(prefix, first), after = std::max<std::int64_t>(0, prefix - last);
        pairs += static_cast<double>(before + (last - first) + after);
    }
    return pairs;
}

double visible_pairs(const AttentionProblem& problem) {
    const AttentionMask& mask = problem.params.mask;
    const bool packed = problem.params.layout == Layout::packed;
    double pairs = 0.0;
    for (std::size_t sequence = 0; sequence < problem.q_lengths.size(); ++sequence) {
        const std::int64_t queries = problem.q_lengths[sequence];
        const std::int64_t keys = problem.k_lengths[sequence];
        const bool to_its_end = packed || mask.query_offsets.defined();
        const std::int64_t offset = (to_its_end ? keys : problem.keys_given) - queries;
        const std::int64_t prefix =
            mask.prefix_lengths.defined()
                ? mask.prefix_lengths[static_cast<std::int64_t>(sequence)].item<std::int64_t>()
                : 0;
        pairs += visible_pairs(mask, queries, keys, offset, prefix);
    }
    return pairs;
}

bool AttentionPart::whole(const AttentionProblem& problem) const {
    return sequences == static_cast<std::int64_t>(problem.q_lengths.size()) && kv_heads == problem.kv_heads;
}

at::Tensor part_of(const AttentionProblem& problem, const AttentionPart& part, const std::string& name,
                   const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    const std::int64_t group = problem.heads / problem.kv_heads;
    const std::string base = name.starts_with("grad ") ? name.substr(5) : name;
    const bool of_keys = base == "k" || base == "v";
    const std::int64_t head = part.first_kv_head * (of_keys ? 1 : group);
    const std::int64_t heads = part.kv_heads * (of_keys ? 1 : group);
    if (base == "relative_bias" || base == "dense_bias") return narrow(tensor, 1, head, heads);
    if (problem.params.layout == Layout::padded) {
        return narrow(narrow(tensor, 0, part.first_sequence, part.sequences), 1, head, heads);
    }
    const Lengths& lengths = of_keys ? problem.k_lengths : problem.q_lengths;
    const auto first = lengths.begin() + part.first_sequence;
    const std::int64_t start = sum(Lengths(lengths.begin(), first));
    return narrow(narrow(tensor, 0, start, sum(Lengths(first, first + part.sequences))), 1, head, heads);
}

AttentionProblem part_of(const AttentionProblem& problem, const AttentionPart& part) {
    AttentionProblem result = problem;
    const auto take = [&](const char* name, at::Tensor& tensor) {
        tensor = part_of(problem, part, name, tensor);
    };
    take("q", result.inputs.q);
    take("k", result.inputs.k);
    take("v", result.inputs.v);
    take("relative_bias", result.inputs.relative_bias);
    take("dense_bias", result.inputs.dense_bias);
    take("out", result.grad_out);
    const auto sequences = [&](const Lengths& lengths) {
        const auto first = lengths.begin() + part.first_sequence;
        return Lengths(first, first + part.sequences);
    };
    result.q_lengths = sequences(problem.q_lengths);
    result.k_lengths = sequences(problem.k_lengths);
    result.kv_heads = part.kv_heads;
    result.heads = part.kv_heads * (problem.heads / problem.kv_heads);

    AttentionMask& mask = result.params.mask;
    mask.first_document += part.first_sequence;
    mask.first_head += part.first_kv_head * (problem.heads / problem.kv_heads);
    mask.key_lengths = narrow(mask.key_lengths, 0, part.first_sequence, part.sequences);
    mask.query_offsets = narrow(mask.query_offsets, 0, part.first_sequence, part.sequences);
    mask.prefix_lengths = narrow(mask.prefix_lengths, 0, part.first_sequence, part.sequences);
    mask.alibi_slopes =
        narrow(mask.alibi_slopes, 0, part.first_kv_head * (problem.heads / problem.kv_heads), result.heads);
    if (mask.kinds.has(MaskKind::documents)) {
        mask.cu_seqlens_q = offsets_tensor(result.q_lengths);
        mask.cu_seqlens_k = offsets_tensor(result.k_lengths);
    }
    return result;
}

AttentionPart part_to_check(const AttentionProblem& problem, std::int64_t pairs) {
    const auto sequences = static_cast<std::int64_t>(problem.q_lengths.size());
    const std::int64_t group = problem.heads / problem.kv_heads;
    const std::int64_t per_head =
        std::max<std::int64_t>(longest(problem.q_lengths) * longest(problem.k_lengths) * group, 1);
    AttentionPart part;
    part.kv_heads = std::clamp<std::int64_t>(pairs / per_head, 1, problem.kv_heads);
    part.sequences = std::clamp<std::int64_t>(pairs / (per_head * part.kv_heads), 1, sequences);
    part.first_sequence = sequences - part.sequences;
    part.first_kv_head = problem.params.dropout.active() ? 0 : problem.kv_heads - part.kv_heads;
    return part;
}

}  // namespace switchyard::bench
