#include "core/workbench/infer/logits/repetition_penalty.h"

#include <algorithm>

namespace switchyard::infer {

void RepetitionPenalty::apply(std::span<float> logits, const Ids& tokens) const {
    auto seen = tokens;
    std::ranges::sort(seen);
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (const auto token : seen) {
        if (token < 0 || token >= static_cast<std::int64_t>(logits.size())) continue;
        auto& logit = logits[static_cast<std::size_t>(token)];
        logit = logit < 0.0F ? logit * penalty_ : logit / penalty_;
    }
}

}  // namespace switchyard::infer
