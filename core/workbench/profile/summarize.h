// Recordings of steps -> what a profile says of their time.
//
// No LibTorch here.
#pragma once

#include <utility>
#include <vector>

#include "core/workbench/profile/profile.h"
#include "core/workbench/profile/recording.h"

namespace switchyard::profile {

// `pairs`: milliseconds of steps over the same batches, observed and not. `optimizer`: what one step of the
// optimizer computes and moves.
Profile summarize(const std::vector<Recording>& steps, const std::vector<std::pair<double, double>>& pairs,
                  const Cost& optimizer);

}  // namespace switchyard::profile
