#include "core/workbench/compare/inference/cache_table.h"

#include <algorithm>

namespace switchyard::compare {
namespace {

bool same_but_for_the_cache(const ArmSpec& a, const ArmSpec& b) {
    return !a.external() && !b.external() && a.cached && !b.cached && a.overrides == b.overrides;
}

}  // namespace

std::int64_t tokens_without_cache(std::int64_t prompt, std::int64_t generated) {
    return generated * prompt + generated * (generated - 1) / 2;
}

std::int64_t tokens_with_cache(std::int64_t prompt, std::int64_t generated) {
    return prompt + std::max<std::int64_t>(0, generated - 1);
}

std::vector<CacheRow> cache_rows(const InferenceResult& result) {
    std::vector<CacheRow> rows;
    for (std::size_t workload = 0; workload < result.workloads.size(); ++workload) {
        const auto& asked = result.workloads[workload];
        if (asked.tokens == 0) continue;
        for (std::size_t cached = 0; cached < result.arms.size(); ++cached) {
            for (std::size_t whole = 0; whole < result.arms.size(); ++whole) {
                const auto &with = result.arms[cached], &without = result.arms[whole];
                if (!with.ok() || !without.ok() || !same_but_for_the_cache(with.spec, without.spec)) continue;
                const auto prompt = asked.lengths.max;
                rows.push_back({workload, cached, whole,
                                estimate(block_costs(without.results[workload], pass_of),
                                         block_costs(with.results[workload], pass_of))
                                    .ratio,
                                static_cast<double>(tokens_without_cache(prompt, asked.tokens)) /
                                    static_cast<double>(tokens_with_cache(prompt, asked.tokens))});
            }
        }
    }
    return rows;
}

}  // namespace switchyard::compare
