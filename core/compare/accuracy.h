// Whether a backend's results are right: its distance from the float64 oracle, beside the one that is
// allowed, by the rule of the conformance suite (<switchyard/conformance/tolerance.h>).
#pragma once

#include <switchyard/compare/bench_case.h>
#include <switchyard/compare/bench_report.h>

namespace switchyard::compare {

// `oracle` and `reference` (the reference run in the dtype of the candidate) and `candidate` hold the same
// tensors in the same order. Reports the tensor and the measure, root mean square or maximum, that is worst
// off. `bound`: what a component of Accuracy::reduced declares; 0 for an exact one.
ErrorReport judge_results(const CheckedTensors& candidate, const CheckedTensors& reference,
                          const CheckedTensors& oracle, double bound);

}  // namespace switchyard::compare
