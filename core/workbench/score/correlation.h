// How far two columns of numbers go together.
#pragma once

#include <cstdint>
#include <span>

namespace switchyard::score {

// Pearson's correlation of pairs in one pass (Welford 1962, and Bennett et al. 2009 for the products), of
// their distances from the first pair: so an offset that all have costs no digits.
class Correlation {
public:
    void add(double first, double second);
    // NaN where one of the two does not vary.
    double pearson() const;
    // Sum of squares about the mean.
    double second_squares() const { return second_squares_; }

private:
    std::int64_t count_ = 0;
    double first_origin_ = 0.0, second_origin_ = 0.0;
    double first_mean_ = 0.0, second_mean_ = 0.0;
    double first_squares_ = 0.0, second_squares_ = 0.0, products_ = 0.0;
};

// Spearman's rank correlation: Pearson's of the ranks, where values that are the same have the mean of their
// ranks (Kendall 1945, Biometrika 33, 239-251). NaN where one of the two does not vary or holds a NaN.
// Both are of one length.
double spearman(std::span<const double> first, std::span<const double> second);

}  // namespace switchyard::score
