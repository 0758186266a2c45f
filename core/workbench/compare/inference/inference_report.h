// A bench of inference as text for people and as JSON for programs (docs/schema/bench_inference.json).
//
// No LibTorch here.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/workbench/compare/inference/inference_result.h"

namespace switchyard::compare {

// Lines of at most 110 columns where names allow it.
std::string to_text(const InferenceResult& result);
nlohmann::ordered_json to_json(const InferenceResult& result);

// "torch: 1.85 [1.82, 1.88] times as fast as gemm, FASTER", of tokens after the first where there are any.
std::string sentence(const InferenceResult& result, const InferencePair& pair);
// How often arms were started and what that leaves open, and how others disturbed them. Empty: there is one
// arm, and nobody did.
std::string measured_text(const InferenceResult& result);
// The pair of an arm on a workload; nullptr: it is the base, or did not run.
const InferencePair* pair_of(const InferenceResult& result, std::size_t workload, std::size_t arm);

}  // namespace switchyard::compare
