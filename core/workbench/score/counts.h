// Precision, recall and F1 from counts.
#pragma once

#include <cstdint>

namespace switchyard::score {

// 0 where nothing divides, as scikit-learn's zero_division = 0.
inline double share(std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

struct Counts {
    std::int64_t both = 0;   // predicted, and right
    std::int64_t told = 0;   // predicted
    std::int64_t right = 0;  // there to be predicted

    double precision() const { return share(both, told); }
    double recall() const { return share(both, right); }
    double f1() const { return share(2 * both, told + right); }  // the harmonic mean of both
    Counts& operator+=(const Counts& other) {
        both += other.both;
        told += other.told;
        right += other.right;
        return *this;
    }
    bool operator==(const Counts&) const = default;
};

}  // namespace switchyard::score
