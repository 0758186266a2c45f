// Are final losses of two arms the same for all that matters? Two one-sided t-tests, paired by seed.
//
// That a test finds no difference does not show that there is none; an equivalence test does, within a margin
// that must be named before the losses are seen (Schuirmann 1987, "A comparison of the two one-sided tests
// procedure and the power approach", Journal of Pharmacokinetics and Biopharmaceutics 15:657). At the level
// 0.05 it is the same as asking whether the 90 % interval of the mean difference lies within the margin.
//
// No LibTorch here.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <switchyard/interfaces/types.h>

namespace switchyard::bench {

// `relative`: of the ratio of the losses, whose logarithms are tested; otherwise in the unit of the loss.
struct LossMargin {
    double size = 0.02;
    bool relative = false;

    // How differences of losses are shown beside it: in percent where it is relative.
    double shown(double difference) const { return relative ? 100.0 * difference : difference; }
    const char* unit() const { return relative ? " %" : ""; }

    bool operator==(const LossMargin&) const = default;
};

// "0.02" or "2%"; returns what is wrong, or "".
std::string read_margin(const std::string& text, LossMargin& margin);
std::string to_string(const LossMargin& margin);

// equivalent: the interval lies within the margin;  different: wholly outside of it;  cannot_tell: neither,
// or too few seeds.
enum class Equivalence : std::uint8_t { equivalent, different, cannot_tell };

// Of arm - base, or of arm / base - 1, from the mean of logarithms, where the margin is relative. NaN where
// there is nothing to say.
struct EquivalenceResult {
    Equivalence verdict = Equivalence::cannot_tell;
    double difference = 0.0;  // mean
    double low = 0.0;         // 90 % interval
    double high = 0.0;
    double p = 1.0;  // of the worse of the two tests
    int seeds = 0;
    std::string reason;  // why it cannot be told
};

// One final loss for each seed, in the same order.
EquivalenceResult test_equivalence(std::span<const double> base, std::span<const double> arm,
                                   const LossMargin& margin);

}  // namespace switchyard::bench

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 3> names<bench::Equivalence>{"EQUIVALENT", "NOT_EQUIVALENT",
                                                                           "CANNOT_TELL"};
}  // namespace switchyard
