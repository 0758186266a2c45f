#include "core/workbench/infer/logits/top_p.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/workbench/infer/logits/largest.h"

namespace switchyard::infer {

void TopP::apply(std::span<float> logits, const Ids&) const {
    const auto first = index_of_largest(logits);
    if (p_ >= 1.0 || first < 0) return;
    const double most = logits[static_cast<std::size_t>(first)];
    const auto weight = [&](float logit) { return std::exp(static_cast<double>(logit) - most); };
    double sum = 0.0;
    for (const auto logit : logits) sum += logit == never ? 0.0 : weight(logit);

    // The nucleus is small as a rule: more are selected only where these do not reach the share.
    constexpr std::size_t begun_with = 64, times = 8;
    std::size_t kept = 0;
    std::vector<std::int64_t> order;
    for (std::size_t count = begun_with;; count *= times) {
        order = largest(logits, std::min(count, logits.size()));
        double share = 0.0;
        for (kept = 0; kept < order.size() && (kept == 0 || share < p_ * sum); ++kept)
            share += weight(logits[static_cast<std::size_t>(order[kept])]);
        if (share >= p_ * sum || count >= logits.size()) break;
    }
    std::vector<std::pair<std::size_t, float>> nucleus;
    for (std::size_t i = 0; i < kept; ++i) {
        const auto token = static_cast<std::size_t>(order[i]);
        nucleus.emplace_back(token, logits[token]);
    }
    std::ranges::fill(logits, never);
    for (const auto& [token, logit] : nucleus) logits[token] = logit;
}

}  // namespace switchyard::infer
