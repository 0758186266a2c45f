#include "core/workbench/infer/logits/temperature.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/workbench/infer/logits/largest.h"

namespace switchyard::infer {

Temperature::Temperature(double temperature)
    : temperature_(std::max(static_cast<float>(temperature), std::numeric_limits<float>::min())) {}

void Temperature::apply(std::span<float> logits, const Ids&) const {
    const auto first = index_of_largest(logits);
    if (first < 0) return;
    const auto most = logits[static_cast<std::size_t>(first)];
    // Only where the quotient would be too large is the largest taken away first; probabilities are the same.
    const float less = std::isfinite(most / temperature_) ? 0.0F : most;
    for (auto& logit : logits) logit = (logit - less) / temperature_;
}

}  // namespace switchyard::infer
