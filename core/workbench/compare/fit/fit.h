// The largest batch whose step stays within a memory, and how many samples a second there are on the way
// to it.
//
// Sizes are doubled while a line through the two largest known peaks (memory grows by the same for each
// further sample: activations) says that the next will fit; then that line says where the end is, and what is
// left between the largest that fits and the smallest that does not is halved. The line only says where to
// look: what is told fits has run.
//
// No LibTorch here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/types.h>

namespace switchyard::compare {

// too_large: its peak is above the memory, or it could not get as much;  failed: for another reason.
enum class FitOutcome : std::uint8_t { fits, too_large, failed };

// One size that was tried.
struct FitSample {
    std::int64_t size = 0;
    FitOutcome outcome = FitOutcome::failed;
    std::int64_t peak_bytes = -1;  // -1: not known, it ended before
    double samples_per_second = std::numeric_limits<double>::quiet_NaN();
    std::string reason;  // why it does not fit
};

struct FitSettings {
    std::int64_t memory_bytes = 0;
    std::int64_t most = 1 << 20;     // samples of a batch
    std::string most_is = "--most";  // what makes it the most, in words
    // Runs a few steps of that size in a process of its own, which may end however it likes.
    std::function<FitSample(std::int64_t size)> try_size;
    std::function<bool()> stop;
};

struct FitResult {
    std::int64_t largest = 0;        // that fits; 0: not even one sample does, or it could not be told
    bool at_most = false;            // it is FitSettings::most: larger ones were not tried
    std::string most_is;             // as of the settings
    bool stopped = false;            // before the end was found: `largest` is a lower bound
    std::vector<FitSample> samples;  // by size

    const FitSample* find(std::int64_t size) const;
    // The smallest size above `largest` where it failed for another reason than memory: whether it would fit
    // is not known. nullptr: memory is the limit, or nothing above was tried.
    const FitSample* failed_above() const;
};

FitResult find_largest_batch(const FitSettings& settings);

}  // namespace switchyard::compare

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 3> names<compare::FitOutcome>{"fits", "too_large", "failed"};
}  // namespace switchyard
