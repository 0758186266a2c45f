#include "core/workbench/infer/logits/finite_logits.h"

#include <cmath>
#include <limits>

#include "core/workbench/infer/logits/largest.h"

namespace switchyard::infer {

void require_finite(std::span<const float> logits, const Ids& tokens) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    bool some = false;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        if (!(logits[i] < infinity))
            throw NonfiniteLogits(
                "the logit of token " + std::to_string(i) + " is " + (std::isnan(logits[i]) ? "NaN" : "Inf"),
                tokens);
        some = some || logits[i] != never;
    }
    if (!some) throw NonfiniteLogits("no logit is finite", tokens);
}

}  // namespace switchyard::infer
