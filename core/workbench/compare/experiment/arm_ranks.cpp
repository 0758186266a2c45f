#include "core/workbench/compare/experiment/arm_ranks.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"

namespace switchyard::compare {
namespace {

constexpr std::string_view key = "ranks=";
constexpr std::int64_t most_ranks = 1024;

}  // namespace

std::vector<std::string> without_ranks(const std::vector<std::string>& overrides) {
    std::vector<std::string> rest;
    std::ranges::copy_if(overrides, std::back_inserter(rest),
                         [](const std::string& one) { return !one.starts_with(key); });
    return rest;
}

std::string read_ranks(ArmSpec& arm) {
    for (const auto& one : arm.overrides) {
        if (!one.starts_with(key)) continue;
        const auto word = std::string_view(one).substr(key.size());
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), arm.ranks);
        if (error == std::errc() && end == word.data() + word.size() && arm.ranks >= 1 &&
            arm.ranks <= most_ranks)
            continue;
        arm.ranks = 1;
        return "ranks: expected a number of processes from 1 to " + std::to_string(most_ranks) + ", got '" +
               base::quoted(std::string(word)) + "'";
    }
    return "";
}

std::optional<base::Interval> parallel_efficiency(const Comparison& comparison, const PairResult& pair) {
    const auto &base = comparison.arms[pair.base].spec, &arm = comparison.arms[pair.arm].spec;
    if (base.external() || arm.external() || base.ranks == arm.ranks) return std::nullopt;
    if (base.threads <= 0 || base.threads != arm.threads) return std::nullopt;
    if (without_ranks(base.overrides) != without_ranks(arm.overrides)) return std::nullopt;
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
