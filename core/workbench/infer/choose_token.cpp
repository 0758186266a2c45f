#include "core/workbench/infer/choose_token.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace switchyard::infer {

std::vector<Candidate> candidates(const std::vector<double>& logits, const Sampling& sampling) {
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        if (std::isnan(logits[i]))
            throw std::runtime_error("the logit of token " + std::to_string(i) + " is NaN");
        if (std::isfinite(logits[i])) all.push_back({static_cast<std::int64_t>(i), logits[i]});
    }
    if (all.empty()) throw std::runtime_error("no logit is finite");
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.probability > b.probability; });
    const double largest = all.front().probability;
    if (sampling.temperature == 0.0) return {{all.front().token, 1.0}};
    if (sampling.top_k > 0 && sampling.top_k < static_cast<std::int64_t>(all.size()))
        all.resize(static_cast<std::size_t>(sampling.top_k));
    double sum = 0.0;
    for (auto& one : all)
        sum += one.probability = std::exp((one.probability - largest) / sampling.temperature);
    double share = 0.0;
    std::size_t kept = 0;
    while (kept < all.size() && (kept == 0 || share < sampling.top_p * sum)) share += all[kept++].probability;
    all.resize(kept);
    for (auto& one : all) one.probability /= share;
    return all;
}

std::int64_t choose_token(const std::vector<double>& logits, const Sampling& sampling, double draw) {
    const auto all = candidates(logits, sampling);
    for (const auto& one : all) {
        if (draw < one.probability) return one.token;
        draw -= one.probability;
    }
    return all.back().token;  // what rounding left over
}

}  // namespace switchyard::infer
