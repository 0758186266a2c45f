// Measurements that follow each other are alike: what disturbs one block often lasts into the next. How
// alike, and how many independent measurements so many are worth.
//
// The model is an autoregression of first order: the correlation of two blocks falls by the same factor with
// every block between them. It is the least that has to be allowed for, and all that a few dozen blocks can
// tell.
//
// No LibTorch here.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace switchyard::bench {

// Above it no estimate goes: with a few dozen blocks anything higher cannot be told from a trend.
inline constexpr double most_correlation = 0.97;

// Correlation of neighbours in one series, 0 to most_correlation. The usual estimate is too low, by (1 + 4 r)
// / n (Kendall 1954, "Note on bias in the estimation of autocorrelation", Biometrika 41:403); this one is
// corrected for it. Values further than three deviations from the median count as just that far.
double lag_one_correlation(std::span<const double> series);

// The same within rounds, 0 to 0.9, whatever differs between their levels: by how much faster the squared
// difference of values two apart grows than that of neighbours (the variogram at 1 and 2; their ratio is 1 +
// r). A round's mean does not enter, so short rounds do not bias it. 0 where no round has three values.
double lag_one_within(std::span<const std::vector<double>> rounds);

// How many independent values the mean of `count` values of that correlation is worth (Bayley & Hammersley
// 1946, "The 'effective' number of independent observations in an autocorrelated time series", Supplement to
// the Journal of the Royal Statistical Society 8:184). At least 1.
double effective_count(std::size_t count, double correlation);

}  // namespace switchyard::bench
