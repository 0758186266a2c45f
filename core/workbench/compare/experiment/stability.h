// Did training stay stable? What a comparison says of each arm beside its speed; docs/compare.md has it in
// words.
//
// An arm is stable where all of this holds in its timed run:
//   - it ran to the end with every loss finite;
//   - after the opening, in which a loss scale that begins at 2^16 may halve its way down, it skipped at most
//     1 % of the steps, and one in any case;
//   - its loss did not rise: the mean over the last tenth of the steps, five at least, is not above that over
//     the first by more than 10 % and three standard errors;
//   - its loss did not leave the base's: over the last tenth the mean difference of equal steps is not above
//     10 % of the base's loss and three standard errors;
// and where the accuracy of both is known, after every seed:
//   - its accuracy on held-out samples is within one point of the base's.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace switchyard::compare {

// The timed run of one arm, step by step.
struct StepRecord {
    std::vector<double> losses;
    std::vector<bool> skipped;  // as long
};

struct Stability {
    std::optional<bool> stable;  // nothing: cannot be told
    std::string reason;          // why not, or why it cannot be told
    // Of the mean loss over the last tenth of the steps from the base's over the same steps, relative; NaN:
    // not known.
    double loss_drift = std::numeric_limits<double>::quiet_NaN();
    std::int64_t late_skips = 0;  // after the opening
};

inline constexpr std::size_t opening_steps = 16;  // halvings from 2^16 to 1
inline constexpr std::size_t least_steps = 12;    // fewer say nothing of a trend

// `base` is nullptr for the base itself, and where the two did not learn from the same batches.
Stability judge_stability(const StepRecord& arm, const StepRecord* base);

inline constexpr double accuracy_margin = 0.01;

// By seed, nothing where it is not known. What speaks against the arm is added to what was said of it.
void judge_accuracy(const std::vector<std::optional<double>>& arm,
                    const std::vector<std::optional<double>>& base, Stability& stability);

}  // namespace switchyard::compare
