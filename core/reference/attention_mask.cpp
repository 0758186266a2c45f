#include <switchyard/reference/attention_mask.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>

#include <switchyard/interfaces/relative_buckets.h>

namespace switchyard::reference {
namespace {

void restrict_to(at::Tensor& seen, const at::Tensor& condition) {
    seen = seen.defined() ? seen.logical_and(condition) : condition;
}

}  // namespace

at::Tensor visible(const AttentionMask& mask, const ScoreGeometry& geometry) {
    const at::Tensor p_BN1 = geometry.position_BN.unsqueeze(-1);
    const at::Tensor& j_M = geometry.key_M;
    at::Tensor seen;
    if (mask.kinds.has(MaskKind::causal)) restrict_to(seen, j_M.le(p_BN1));
    if (mask.kinds.has(MaskKind::sliding_window)) {
        if (mask.window_left >= 0) restrict_to(seen, j_M.ge(p_BN1 - mask.window_left));
        if (mask.window_right >= 0) restrict_to(seen, j_M.le(p_BN1 + mask.window_right));
    }
    if (seen.defined() && mask.kinds.has(MaskKind::prefix)) {
        seen = seen.logical_or(j_M.lt(geometry.prefix_length_B.view({-1, 1, 1})));
    }
    if (geometry.key_length_B.defined()) restrict_to(seen, j_M.lt(geometry.key_length_B.view({-1, 1, 1})));
    if (!seen.defined()) return seen;
    return seen.expand({seen.size(0), geometry.position_BN.size(1), j_M.size(0)});
}

at::Tensor add_position_biases(const at::Tensor& scores_BHNM, const AttentionMask& mask,
                               const at::Tensor& relative_bias, const ScoreGeometry& geometry) {
    const bool alibi = mask.kinds.has(MaskKind::alibi);
    const bool relative = mask.kinds.has(MaskKind::relative_bias);
    if (!alibi && !relative) return scores_BHNM;

    at::Tensor scores = scores_BHNM;
    const at::Tensor distance_BNM = geometry.key_M - geometry.position_BN.unsqueeze(-1);
    if (alibi) {
        const at::Tensor slope_H11 = mask.alibi_slopes.to(scores.scalar_type()).view({-1, 1, 1});
        scores = scores - slope_H11 * distance_BNM.abs().unsqueeze(1);
    }
    if (relative) {
        const at::Tensor bucket_BNM = relative_buckets(
            distance_BNM, relative_bias.size(0), mask.relative_bidirectional, mask.relative_max_distance);
        std::vector<std::int64_t> shape = bucket_BNM.sizes().vec();
        shape.push_back(relative_bias.size(1));
        const at::Tensor bias_BNMH =
            relative_bias.to(scores.scalar_type()).index_select(0, bucket_BNM.reshape({-1})).view(shape);
        scores = scores + bias_BNMH.permute({0, 3, 1, 2});
    }
    return scores;
}

std::int64_t relative_bucket(std::int64_t distance, std::int64_t buckets, bool bidirectional,
                             std::int64_t max_distance) {
    std::int64_t first = 0;
    std::int64_t side = buckets;
    std::int64_t n = -distance;
    if (bidirectional) {
        side = buckets / 2;
        if (distance > 0) first = side;
        n = std::abs(distance);
    }
    n = std::max<std::int64_t>(n, 0);
    const std::int64_t exact = exact_distances(buckets, bidirectional);
    if (n < exact) return first + n;
    // Boundaries such as log(64 / 8) / log(128 / 8) * 8 = 6 must not depend on how a logarithm rounds.
    constexpr double slack = 1e-9;
    const double growth = std::log(static_cast<double>(n) / static_cast<double>(exact)) /
                          std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
    const auto step = static_cast<std::int64_t>(growth * static_cast<double>(side - exact) + slack);
    return first + std::min(exact + step, side - 1);
}

at::Tensor relative_buckets(const at::Tensor& distance, std::int64_t buckets, bool bidirectional,
                            std::int64_t max_distance) {
    // Distances are few compared to places: one table from the smallest to the largest, then a look-up.
    if (distance.numel() == 0) return distance;
    const auto low = distance.min().item<std::int64_t>();
    const auto high = distance.max().item<std::int64_t>();
    std::vector<std::int64_t> table;
    for (std::int64_t d = low; d <= high; ++d)
        table.push_back(relative_bucket(d, buckets, bidirectional, max_distance));
    const at::Tensor table_D = at::from_blob(table.data(), {static_cast<std::int64_t>(table.size())},
                                             at::TensorOptions().dtype(at::kLong))
                                   .clone()
                                   .to(distance.device());
    return table_D.index_select(0, (distance - low).reshape({-1})).view(distance.sizes());
}

}  // namespace switchyard::reference
