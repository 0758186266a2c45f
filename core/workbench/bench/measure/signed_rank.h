// Wilcoxon's signed-rank test: how surprising is a set of paired differences, if there were none?
//
// Wilcoxon 1945, "Individual Comparisons by Ranking Methods", Biometrics Bulletin 1:80. Zeros are dropped,
// ties share their mean rank, and the distribution is counted out exactly over all signs (no normal
// approximation).
//
// No LibTorch here.
#pragma once

#include <span>

namespace switchyard::bench {

// The two-sided p-value of "the differences lie around 0"; 1 where nothing differs. Not finite differences
// are left out.
double signed_rank_p(std::span<const double> differences);

}  // namespace switchyard::bench
