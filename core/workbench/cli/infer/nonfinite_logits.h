// What a model gives that is NaN or Inf, told with the operation that made it.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/workbench/cli/command.h"
#include "core/workbench/infer/logits/finite_logits.h"
#include "core/workbench/train/session.h"

namespace switchyard::cli {

// Gives the models the same tokens again, with every operation looked at. The failure has Exit::numerics.
Failure nonfinite_failure(const infer::NonfiniteLogits& error,
                          const std::vector<const train::Session*>& models);

// The same of what a model says of a whole text: `told` has where and what, `again` gives it that text alone.
Failure nonfinite_failure(const std::string& told, const std::function<void()>& again);

// What to do about it, as the end of a message.
inline constexpr const char* nonfinite_advice =
    "; expected other weights, or a precision.backend of more range, such as amp/fp32";

inline const char* nonfinite_name(double value) { return std::isnan(value) ? "NaN" : "Inf"; }

}  // namespace switchyard::cli
