#include "core/workbench/infer/choose_token.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/workbench/infer/logits/finite_logits.h"
#include "core/workbench/infer/logits/forbidden_tokens.h"
#include "core/workbench/infer/logits/largest.h"
#include "core/workbench/infer/logits/min_p.h"
#include "core/workbench/infer/logits/repetition_penalty.h"
#include "core/workbench/infer/logits/temperature.h"
#include "core/workbench/infer/logits/top_k.h"
#include "core/workbench/infer/logits/top_p.h"

namespace switchyard::infer {
namespace {

void apply(const LogitsProcessors& processors, std::span<float> logits, const Ids& tokens) {
    for (const auto& processor : processors) processor->apply(logits, tokens);
}

std::size_t require_one(std::int64_t likeliest) {
    if (likeliest < 0) throw std::runtime_error("no token may come: all that the model knows are forbidden");
    return static_cast<std::size_t>(likeliest);
}

}  // namespace

TokenChooser::TokenChooser(const Sampling& sampling, Forbidden forbidden)
    : greedy_(sampling.temperature == 0.0) {
    if (sampling.repetition_penalty != 1.0)
        scoring_.push_back(std::make_unique<RepetitionPenalty>(sampling.repetition_penalty));
    scoring_.push_back(
        std::make_unique<ForbiddenTokens>(std::move(forbidden.tokens), forbidden.first_unknown));
    if (greedy_) return;
    if (sampling.temperature != 1.0)
        for_draws_.push_back(std::make_unique<Temperature>(sampling.temperature));
    if (sampling.top_k > 0) for_draws_.push_back(std::make_unique<TopK>(sampling.top_k));
    if (sampling.top_p < 1.0) for_draws_.push_back(std::make_unique<TopP>(sampling.top_p));
    if (sampling.min_p > 0.0) for_draws_.push_back(std::make_unique<MinP>(sampling.min_p));
}

Candidates TokenChooser::candidates(std::span<const float> logits, const Ids& tokens) const {
    require_finite(logits, tokens);
    std::vector<float> row(logits.begin(), logits.end());
    apply(scoring_, row, tokens);
    const auto likeliest = require_one(index_of_largest(row));
    if (greedy_) return {{static_cast<std::int64_t>(likeliest), 1.0}};
    apply(for_draws_, row, tokens);
    Candidates all;
    double sum = 0.0;
    const double most = row[likeliest];  // stays the likeliest, whatever the processors do
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (row[i] == never) continue;
        const double weight = std::exp(static_cast<double>(row[i]) - most);
        sum += weight;
        all.push_back({static_cast<std::int64_t>(i), weight});
    }
    for (auto& one : all) one.probability /= sum;
    return all;
}

std::int64_t drawn(const Candidates& candidates, double draw) {
    for (const auto& one : candidates) {
        if (draw < one.probability) return one.token;
        draw -= one.probability;
    }
    // What rounding left over goes to the last that can come at all.
    const auto last = std::find_if(candidates.rbegin(), candidates.rend(),
                                   [](const auto& one) { return one.probability > 0.0; });
    return last->token;
}

std::int64_t TokenChooser::choose(std::span<const float> logits, const Ids& tokens, double draw) const {
    return drawn(candidates(logits, tokens), draw);
}

std::vector<float> TokenChooser::log_probabilities(std::span<const float> logits, const Ids& tokens) const {
    require_finite(logits, tokens);
    std::vector<float> row(logits.begin(), logits.end());
    const double most = row[static_cast<std::size_t>(index_of_largest(row))];
    double sum = 0.0;
    for (const auto logit : row) sum += std::exp(static_cast<double>(logit) - most);
    const double all = most + std::log(sum);
    for (auto& logit : row) logit = static_cast<float>(static_cast<double>(logit) - all);
    apply(scoring_, row, tokens);
    require_one(index_of_largest(row));
    return row;
}

}  // namespace switchyard::infer
