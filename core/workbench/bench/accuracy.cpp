#include "core/workbench/bench/accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <switchyard/conformance/tolerance.h>

namespace switchyard::bench {
namespace {

using conformance::Spread;

Spread largest_gradient(const CheckedTensors& oracle) {
    Spread natural;
    for (const CheckedTensor& tensor : oracle) {
        if (!tensor.gradient) continue;
        const Spread size = conformance::spread_of(tensor.value);
        natural = {std::max(natural.rms, size.rms), std::max(natural.largest, size.largest)};
    }
    return natural;
}

// Of a gradient that is summed up over rows: one running sum of n terms in float32 is off by about sqrt(n)
// units of its last place (Higham 2002, Accuracy and Stability of Numerical Algorithms, 4.2), where the
// reference sums in pairs.
double roundoff_of_sum(const CheckedTensor& gradient, std::int64_t most_values) {
    const auto values = std::max<std::int64_t>(gradient.value.numel(), 1);
    const double terms = static_cast<double>(most_values) / static_cast<double>(values);
    return conformance::unit_roundoff(at::kFloat) * std::max(1.0, std::sqrt(terms) / 8.0);
}

// The measure that is worse off, relative to the oracle's root mean square; absolute where that is 0.
ErrorReport report_of(const conformance::Judgement& judgement, const CheckedTensor& oracle) {
    ErrorReport report;
    report.of = "rms of " + oracle.name;
    if (judgement.kind == conformance::Judgement::Kind::not_finite) {
        report.error = std::numeric_limits<double>::infinity();
        report.allowed = 0.0;
        return report;
    }
    const double size = conformance::spread_of(oracle.value).rms;
    const double scale = size > 0.0 ? size : 1.0;
    const Spread &error = judgement.error, &allowed = judgement.allowed;
    const bool by_largest = error.largest * allowed.rms > error.rms * allowed.largest;
    if (by_largest) report.of = "max of " + oracle.name;
    report.error = (by_largest ? error.largest : error.rms) / scale;
    report.allowed = (by_largest ? allowed.largest : allowed.rms) / scale;
    return report;
}

}  // namespace

ErrorReport judge_results(const CheckedTensors& candidate, const CheckedTensors& reference,
                          const CheckedTensors& oracle, double bound) {
    if (candidate.size() != oracle.size() || reference.size() != oracle.size()) {
        throw std::logic_error("the backend gives " + std::to_string(candidate.size()) +
                               " results, the oracle " + std::to_string(oracle.size()));
    }
    const Spread natural = largest_gradient(oracle);
    std::int64_t most_values = 0;
    for (const CheckedTensor& tensor : oracle) most_values = std::max(most_values, tensor.value.numel());
    ErrorReport worst;
    double ratio = -1.0;
    for (std::size_t i = 0; i < oracle.size(); ++i) {
        const bool gradient = oracle[i].gradient;
        const bool wide = candidate[i].value.scalar_type() == at::kDouble;
        const auto judgement =
            conformance::judge(candidate[i].value,
                               {.oracle = oracle[i].value.to(at::kDouble),
                                .reference = conformance::spread_of(reference[i].value, oracle[i].value),
                                .factor = gradient ? 3.0 : 2.0,
                                .natural = gradient ? natural : Spread{},
                                .roundoff = gradient && !wide ? roundoff_of_sum(oracle[i], most_values) : 0.0,
                                .reduced_bound = bound});
        if (judgement.ratio <= ratio) continue;
        ratio = judgement.ratio;
        worst = report_of(judgement, oracle[i]);
    }
    return worst;
}

ErrorReport Truth::error_of(Contender& contender, double bound) {
    const bool dropout = contender.binding().random() != RandomSource::library;
    auto found = results_.find(dropout);
    if (found == results_.end()) {
        found = results_
                    .emplace(dropout, Results{case_.reference(pass_, DType::float64, dropout),
                                              case_.reference(pass_, dtype_, dropout)})
                    .first;
    }
    auto report =
        judge_results(contender.results(dropout), found->second.reference, found->second.oracle, bound);
    report.part = case_.checked_part();
    report.without_dropout = !dropout;
    return report;
}

}  // namespace switchyard::bench
