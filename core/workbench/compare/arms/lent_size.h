// How much stands in the batches that arms are lent, to compare with what they say they trained on.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace switchyard::compare {

// Of one step. Tokens: places, padding too.
struct LentStep {
    std::int64_t samples = 0, tokens = 0;
};

// What is wrong with counts of `steps` steps that begin with step `first`, where the lent ones come again
// after the last; empty: nothing.
std::string beyond_lent(const std::vector<LentStep>& lent, std::int64_t first, std::int64_t steps,
                        std::int64_t samples, std::int64_t tokens);

}  // namespace switchyard::compare
