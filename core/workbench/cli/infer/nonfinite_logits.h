// Logits that are NaN or Inf, told with the operation that made them.
#pragma once

#include <vector>

#include "core/workbench/cli/command.h"
#include "core/workbench/infer/logits/finite_logits.h"
#include "core/workbench/train/session.h"

namespace switchyard::cli {

// Gives the models the same tokens again, with every operation looked at. The failure has Exit::numerics.
Failure nonfinite_failure(const infer::NonfiniteLogits& error,
                          const std::vector<const train::Session*>& models);

}  // namespace switchyard::cli
