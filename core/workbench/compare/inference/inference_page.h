// A bench of inference as one HTML page that needs nothing from outside: throughput against latency, every
// workload's latencies with their tails, memory, what a cache saves, outputs, what ran.
#pragma once

#include <string>

#include "core/workbench/compare/page/comparison_page.h"
#include "core/workbench/compare/inference/inference_result.h"

namespace switchyard::compare {

// The whole document, below 500 KB whatever it holds: more than twelve arms are in the tables only.
std::string inference_page(const InferenceResult& result, const ComparisonFacts& facts);

}  // namespace switchyard::compare
