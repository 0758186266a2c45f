#include "core/workbench/bench/measure/equivalence.h"
#include "core/kernel/base/number_text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include <boost/math/distributions/students_t.hpp>

namespace switchyard::bench {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr double level = 0.05;

EquivalenceResult untold(const std::string& reason, std::size_t seeds) {
    return {Equivalence::cannot_tell, unknown, unknown, unknown, unknown, static_cast<int>(seeds), reason};
}

// The worse of the two one-sided tests. Without any spread the mean alone decides.
double worse_p(double mean, double error, double margin, double freedom) {
    if (error == 0.0) return std::abs(mean) < margin ? 0.0 : 1.0;
    const boost::math::students_t student(freedom);
    const double above_lower = boost::math::cdf(boost::math::complement(student, (mean + margin) / error));
    const double below_upper = boost::math::cdf(student, (mean - margin) / error);
    return std::max(above_lower, below_upper);
}

}  // namespace

std::string read_margin(const std::string& text, LossMargin& margin) {
    const bool relative = text.ends_with('%');
    char* end = nullptr;
    const double size = std::strtod(text.c_str(), &end);
    const bool whole = end == text.c_str() + text.size() - (relative ? 1 : 0) && end != text.c_str();
    if (!whole || !std::isfinite(size) || size <= 0.0)
        return "expected a margin above 0 as 0.02 (in the unit of the loss) or 2% (of the loss), got '" +
               text + "'";
    margin = {relative ? size / 100.0 : size, relative};
    return "";
}

std::string to_string(const LossMargin& margin) {
    return base::digits(margin.shown(margin.size), 3) + margin.unit();
}

EquivalenceResult test_equivalence(std::span<const double> base, std::span<const double> arm,
                                   const LossMargin& margin) {
    const std::size_t seeds = std::min(base.size(), arm.size());
    if (seeds < 2) return untold("an interval needs two seeds", seeds);
    std::vector<double> differences;
    for (std::size_t i = 0; i < seeds; ++i) {
        if (!std::isfinite(base[i]) || !std::isfinite(arm[i]))
            return untold("a final loss is not finite", seeds);
        if (margin.relative && !(base[i] > 0.0 && arm[i] > 0.0))
            return untold("a relative margin needs losses above 0", seeds);
        differences.push_back(margin.relative ? std::log(arm[i] / base[i]) : arm[i] - base[i]);
    }
    const double n = static_cast<double>(seeds);
    double mean = 0.0, squares = 0.0;
    for (const double d : differences) mean += d / n;
    for (const double d : differences) squares += (d - mean) * (d - mean);
    const double error = std::sqrt(squares / (n - 1.0) / n);
    const double size = margin.relative ? std::log1p(margin.size) : margin.size;
    const double reach = error * boost::math::quantile(boost::math::students_t(n - 1.0), 1.0 - level);

    EquivalenceResult result{
        Equivalence::cannot_tell, mean, mean - reach, mean + reach, worse_p(mean, error, size, n - 1.0),
        static_cast<int>(seeds),  ""};
    if (result.low > -size && result.high < size)
        result.verdict = Equivalence::equivalent;
    else if (result.low > size || result.high < -size)
        result.verdict = Equivalence::different;
    else
        result.reason = "the interval crosses the margin: use more seeds, or train longer";
    if (margin.relative) {
        for (double* const one : {&result.difference, &result.low, &result.high}) *one = std::expm1(*one);
    }
    return result;
}

}  // namespace switchyard::bench
