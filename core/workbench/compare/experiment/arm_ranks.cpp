#include "core/workbench/compare/experiment/arm_ranks.h"

#include "core/kernel/base/number_text.h"
#include "core/workbench/compare/experiment/arm_keys.h"

namespace switchyard::compare {

std::optional<base::Interval> parallel_efficiency(const Comparison& comparison, const PairResult& pair) {
    const auto &base = comparison.arms[pair.base].spec, &arm = comparison.arms[pair.arm].spec;
    if (base.external() || arm.external() || base.ranks == arm.ranks) return std::nullopt;
    if (base.threads <= 0 || base.threads != arm.threads) return std::nullopt;
    if (without_arm_keys(base.overrides) != without_arm_keys(arm.overrides)) return std::nullopt;
    const double share = static_cast<double>(base.ranks) / static_cast<double>(arm.ranks);
    return base::Interval{pair.speedup.median * share, pair.speedup.low * share, pair.speedup.high * share};
}

std::string efficiency_text(const Comparison& comparison, const PairResult& pair) {
    const auto efficiency = parallel_efficiency(comparison, pair);
    if (!efficiency) return "";
    const auto& arm = comparison.arms[pair.arm].spec;
    const auto& base = comparison.arms[pair.base].spec;
    return arm.name + ": parallel efficiency of " + std::to_string(arm.ranks) + " ranks over " +
           base::counted(static_cast<std::size_t>(base.ranks), "rank") + ", " +
           base::counted(static_cast<std::size_t>(arm.threads), "thread") + " each: " +
           base::interval_text(
               {100.0 * efficiency->median, 100.0 * efficiency->low, 100.0 * efficiency->high}) +
           " %";
}

}  // namespace switchyard::compare
