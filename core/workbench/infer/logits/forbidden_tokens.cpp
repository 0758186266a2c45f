#include "core/workbench/infer/logits/forbidden_tokens.h"

#include <algorithm>

#include "core/workbench/infer/logits/largest.h"

namespace switchyard::infer {

void ForbiddenTokens::apply(std::span<float> logits, const Ids&) const {
    const auto size = static_cast<std::int64_t>(logits.size());
    for (const auto token : tokens_) {
        if (token >= 0 && token < size) logits[static_cast<std::size_t>(token)] = never;
    }
    if (first_unknown_ < size)
        std::ranges::fill(logits.subspan(static_cast<std::size_t>(first_unknown_)), never);
}

}  // namespace switchyard::infer
