#include "core/workbench/infer/logits/top_k.h"

#include "core/workbench/infer/logits/largest.h"

namespace switchyard::infer {

void TopK::apply(std::span<float> logits, const Ids&) const {
    if (k_ >= static_cast<std::int64_t>(logits.size())) return;
    const auto kept = largest(logits, static_cast<std::size_t>(k_));
    if (kept.empty()) return;
    const auto least = logits[static_cast<std::size_t>(kept.back())];
    for (auto& logit : logits) {
        if (logit < least) logit = never;
    }
}

}  // namespace switchyard::infer
