#include "core/workbench/infer/logits/min_p.h"

#include <cmath>

#include "core/workbench/infer/logits/largest.h"

namespace switchyard::infer {

void MinP::apply(std::span<float> logits, const Ids&) const {
    const auto first = index_of_largest(logits);
    if (first < 0) return;
    // exp(logit - most) < p, for all with one logarithm.
    const double least = static_cast<double>(logits[static_cast<std::size_t>(first)]) + std::log(p_);
    for (auto& logit : logits) {
        if (static_cast<double>(logit) < least) logit = never;
    }
}

}  // namespace switchyard::infer
