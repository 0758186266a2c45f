// Random numbers that are a function of a seed and of what they are for, so that a sample can be drawn again
// on any thread, in any order.
#pragma once

#include <cstdint>

namespace switchyard::data {

// splitmix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators"), begun at a mixture
// of all that is given.
class SplitMix64 {
public:
    SplitMix64(std::uint64_t seed, std::int64_t index, std::int64_t epoch)
        : state_(
              mix(mix(mix(seed) + static_cast<std::uint64_t>(index)) + static_cast<std::uint64_t>(epoch))) {}

    std::uint64_t next() { return mix(state_ += step); }
    // Uniform in 0 ... bound - 1; bound is positive.
    std::int64_t below(std::int64_t bound) {
        const auto product = static_cast<unsigned __int128>(next()) * static_cast<unsigned __int128>(bound);
        return static_cast<std::int64_t>(product >> 64U);
    }
    // Uniform in [0, 1).
    double share() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

private:
    static constexpr std::uint64_t step = 0x9E3779B97F4A7C15U;
    static constexpr std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31U);
    }

    std::uint64_t state_;
};

}  // namespace switchyard::data
