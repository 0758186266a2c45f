// An arm that was measured before, as the base of a comparison. It did not take turns with the others, so
// what the machine was like then and now does not cancel: it is marked as such wherever it is shown.
//
// No LibTorch here.
#pragma once

#include <string>

#include "core/workbench/compare/experiment/read_comparison.h"

namespace switchyard::compare {

// Why a recording says nothing about what is compared now, or "". `now`: as it would be recorded; `standard`:
// the shared values of a configuration that sets none, which count for keys that are newer than the
// recording.
std::string unlike_baseline(const RecordedComparison& recorded, const RecordedComparison& now,
                            const std::map<std::string, std::string>& standard);

// The first arm of the recording that worked becomes the base, and all pairs are judged against it.
void add_baseline(Comparison& comparison, const RecordedComparison& recorded, const std::string& file,
                  double margin);

}  // namespace switchyard::compare
