#include "core/workbench/compare/page/page_arms.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/kernel/base/joined.h"
#include "core/kernel/config/override.h"

namespace switchyard::compare {

std::string base_of(const Comparison& comparison) {
    return comparison.pairs.empty() ? "" : comparison.arms[comparison.pairs.front().base].spec.name;
}

std::size_t base_at(const Comparison& comparison) {
    return comparison.pairs.empty() ? 0 : comparison.pairs.front().base;
}

std::vector<std::size_t> by_speed(const Comparison& comparison) {
    std::vector<std::size_t> order(comparison.arms.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto speed = [&](std::size_t arm) {
        if (arm == base_at(comparison)) return 1.0;
        const auto* const pair = comparison.pair_with(arm);
        const bool told = pair != nullptr && comparison.arms[arm].ok() && std::isfinite(pair->speedup.median);
        return told ? pair->speedup.median : -1.0;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t one, std::size_t other) { return speed(one) > speed(other); });
    return order;
}

std::vector<std::size_t> plotted(const Comparison& comparison) {
    auto order = by_speed(comparison);
    if (order.size() <= shown_arms) return order;
    const auto base = std::find(order.begin(), order.end(), base_at(comparison));
    if (base - order.begin() >= static_cast<std::ptrdiff_t>(shown_arms)) order[shown_arms - 1] = *base;
    order.resize(shown_arms);
    return order;
}

std::string of_own_batches(const Comparison& comparison) {
    std::string names;
    for (const auto arm : plotted(comparison)) {
        const auto& spec = comparison.arms[arm].spec;
        if (spec.own_batches) base::add_item(names, spec.name, ", ");
    }
    return names;
}

std::vector<std::string> differing_keys(const Comparison& comparison) {
    std::vector<std::string> keys;
    const auto sets = [](const ArmResult& arm, const std::string& value) {
        return std::find(arm.spec.overrides.begin(), arm.spec.overrides.end(), value) !=
               arm.spec.overrides.end();
    };
    for (const auto& arm : comparison.arms) {
        for (const auto& value : arm.spec.overrides) {
            const auto key = config::override_key(value);
            const bool in_all = std::all_of(comparison.arms.begin(), comparison.arms.end(),
                                            [&](const ArmResult& other) { return sets(other, value); });
            if (!in_all && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
        }
    }
    return keys;
}

}  // namespace switchyard::compare
