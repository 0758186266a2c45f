// Whether a backend's results are right: its distance from the float64 oracle, beside the one that is
// allowed, by the rule of the conformance suite (<switchyard/conformance/tolerance.h>).
#pragma once

#include <map>

#include "core/workbench/bench/bench_case.h"
#include "core/workbench/bench/bench_report.h"

namespace switchyard::bench {

// `oracle` and `reference` (the reference run in the dtype of the candidate) and `candidate` hold the same
// tensors in the same order. Reports the tensor and the measure, root mean square or maximum, that is worst
// off. `bound`: what a component of Accuracy::reduced declares; 0 for an exact one.
ErrorReport judge_results(const CheckedTensors& candidate, const CheckedTensors& reference,
                          const CheckedTensors& oracle, double bound);

// The reference's results of a case, computed once for all backends.
class Truth {
public:
    // `bench_case` must outlive it and be checkable.
    Truth(BenchCase& bench_case, Pass pass, DType dtype) : case_(bench_case), pass_(pass), dtype_(dtype) {}

    // How far the contender is from it, after a call of it; without dropout where it draws random numbers of
    // its own. `bound` as above.
    ErrorReport error_of(Contender& contender, double bound);

private:
    struct Results {
        CheckedTensors oracle, reference;
    };
    BenchCase& case_;
    Pass pass_;
    DType dtype_;
    std::map<bool, Results> results_;  // by whether dropout is on
};

}  // namespace switchyard::bench
