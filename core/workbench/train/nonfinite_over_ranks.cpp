#include "core/workbench/train/nonfinite_over_ranks.h"

#include <utility>

#include <ATen/ops/zeros.h>

namespace switchyard::train {

std::string nonfinite_over_ranks(distributed::Group& ranks, std::vector<GradientFinding> all,
                                 const std::vector<OwnFinding>& own) {
    const auto count = static_cast<std::int64_t>(all.size());
    auto told = at::zeros({2, count}, at::kDouble);  // what is bad, and on how many ranks there is a gradient
    auto* const values = told.mutable_data_ptr<double>();
    for (const auto& [parameter, bad] : own) {
        values[parameter] += static_cast<double>(bad);
        values[count + parameter] = 1.0;
    }
    ranks.sum(told);
    const auto* const sums = told.const_data_ptr<double>();
    std::vector<GradientFinding> findings;
    for (std::int64_t i = 0; i < count; ++i) {
        if (sums[count + i] == 0.0) continue;
        auto& one = findings.emplace_back(std::move(all[static_cast<std::size_t>(i)]));
        one.bad = static_cast<std::int64_t>(sums[i]);
    }
    return nonfinite_text(findings);
}

}  // namespace switchyard::train
