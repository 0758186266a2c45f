// How many pairs of tokens count as an attention's operations where it has a window (model.window).
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/kernel/config/config.h"

namespace switchyard::model {

// Of all pairs of a sequence of that length. An encoder's are those that are visible. A decoder's are, for
// each query, as many keys as the window and the prefix hold, also for the first ones, before which there are
// fewer: as those count that a causal mask leaves out (step_flops.h), a window as long as the sequence leaves
// none out.
inline double share_in_window(const config::ModelConfig& model, config::Stack stack, std::int64_t window,
                              std::int64_t length) {
    if (window <= 0 || window >= length) return 1.0;
    const auto all = static_cast<double>(length);
    if (config::ModelConfig::causal(stack))
        return std::min(1.0, static_cast<double>(window + std::max<std::int64_t>(0, model.prefix)) / all);
    const auto beyond = static_cast<double>(length - window);
    return 1.0 - beyond * (beyond + 1.0) / (all * all);
}

}  // namespace switchyard::model
