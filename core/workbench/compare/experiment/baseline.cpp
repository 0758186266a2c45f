#include "core/workbench/compare/experiment/baseline.h"

#include "core/kernel/base/printable.h"
#include "core/workbench/compare/experiment/judge_arms.h"

namespace switchyard::compare {

std::string unlike_baseline(const RecordedComparison& recorded, Operation operation, const std::string& title,
                            const std::string& host) {
    const auto& was = recorded.comparison;
    const auto base = base_index(was);
    if (base == was.arms.size()) return "holds no arm that ran to its end";
    if (was.operation != operation)
        return "is of the operation " + std::string(name(was.operation)) + ", this is " +
               std::string(name(operation));
    if (recorded.title != title)
        return "is of " + base::quoted(recorded.title) + "; this is " + base::quoted(title);
    if (recorded.host != host)
        return "was measured on " + base::quoted(recorded.host) + "; this is " + base::quoted(host);
    return "";
}

void add_baseline(Comparison& comparison, const RecordedComparison& recorded, const std::string& file,
                  double margin) {
    auto arm = recorded.comparison.arms[base_index(recorded.comparison)];
    arm.spec.name += " (measured before)";
    arm.measured_before = file;
    comparison.arms.insert(comparison.arms.begin(), std::move(arm));
    summarise_arms(comparison);
    comparison.pairs.clear();
    judge_pairs(comparison, margin);
}

}  // namespace switchyard::compare
