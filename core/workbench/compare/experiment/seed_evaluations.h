// After the last step of a seed: has arms evaluate that say they can, and holds what they count against each
// other.
//
// No LibTorch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/workbench/compare/experiment/arm_requests.h"
#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

class SeedEvaluations {
public:
    // `most`: samples of an evaluation; 0: nobody is asked. `arms` and `result` outlive it.
    SeedEvaluations(ArmRequests& arms, Comparison& result, std::int64_t most)
        : arms_(arms), result_(result), most_(most), evaluates_(arms.size(), false) {}

    // What an arm said when it prepared for a seed.
    void prepared(std::size_t at, const Ready& ready);
    // After its last step of that seed; an arm whose answer does not fit ends.
    void evaluate(std::size_t at, int seed);
    // After all arms have: all evaluate the same samples, those that the arm `reference` has, or else the
    // first arm that evaluated. An arm that counts others ends.
    void check(int seed, std::size_t reference);

private:
    ArmRequests& arms_;
    Comparison& result_;
    std::int64_t most_;
    std::vector<bool> evaluates_;
};

// What is wrong with what an arm counts of samples that another one evaluated, too; "": nothing. `external`:
// it is another program, for which a packed sample of several documents is several.
std::string wrong_evaluation(const Evaluation& arm, const Evaluation& reference, bool external);

}  // namespace switchyard::compare
