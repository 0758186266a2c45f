// How long the samples of a source are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <switchyard/interfaces/data_loader.h>

namespace switchyard::data {

struct LengthBin {
    std::int64_t from = 0, to = 0;  // both belong to it
    std::int64_t samples = 0;
};

struct LengthStatistics {
    std::int64_t samples = 0, tokens = 0;
    std::int64_t shortest = 0, longest = 0;
    // The least length that so many of the samples do not exceed.
    std::int64_t median = 0, percent_90 = 0, percent_99 = 0;
    std::vector<LengthBin> bins;  // of one width, which is 1, 2 or 5 times a power of ten; 20 at most

    double mean() const {
        return samples == 0 ? 0.0 : static_cast<double>(tokens) / static_cast<double>(samples);
    }
};

LengthStatistics length_statistics(const SampleSource& samples);

// A line for each bin: "10-19   412  ########".
std::vector<std::string> histogram_lines(const LengthStatistics& lengths);

}  // namespace switchyard::data
