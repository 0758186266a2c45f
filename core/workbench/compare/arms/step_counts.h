// How many samples and tokens the batches hold that all arms of a comparison share. What an arm reports is
// checked against it.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace switchyard::compare {

// Of one step. Tokens: places, padding included.
struct StepCounts {
    std::int64_t samples = 0, tokens = 0;
};

// What is wrong with the counts reported for `steps` steps that begin with step `first`, or "". After the
// last of the shared steps the first comes again.
std::string wrong_counts(const std::vector<StepCounts>& shared, std::int64_t first, std::int64_t steps,
                         std::int64_t samples, std::int64_t tokens);

}  // namespace switchyard::compare
