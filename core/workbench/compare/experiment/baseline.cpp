#include "core/workbench/compare/experiment/baseline.h"

#include <limits>

#include "core/kernel/base/printable.h"
#include "core/workbench/compare/experiment/judge_arms.h"

namespace switchyard::compare {

std::string unlike_baseline(const RecordedComparison& recorded, const RecordedComparison& now,
                            const std::map<std::string, std::string>& standard) {
    const auto& was = recorded.comparison;
    const auto operation = now.comparison.operation;
    const auto base = base_index(was);
    if (base == was.arms.size()) return "holds no arm that ran to its end";
    if (was.operation != operation)
        return "is of the operation " + std::string(name(was.operation)) + ", this is " +
               std::string(name(operation));
    if (recorded.title != now.title)
        return "is of " + base::quoted(recorded.title) + "; this is " + base::quoted(now.title);
    if (recorded.host != now.host)
        return "was measured on " + base::quoted(recorded.host) + "; this is " + base::quoted(now.host);
    if (recorded.shared_values.empty() && !now.shared_values.empty())
        return "does not say of what model and data it is: measure it again with this version";
    for (const auto& [key, value] : now.shared_values) {
        auto before = recorded.shared_values.find(key);
        if (before == recorded.shared_values.end() && (before = standard.find(key)) == standard.end())
            continue;
        if (before->second != value)
            return "has " + key + ": " + base::quoted(before->second) + "; this has " + base::quoted(value);
    }
    return "";
}

void add_baseline(Comparison& comparison, const RecordedComparison& recorded, const std::string& file,
                  double margin) {
    auto arm = recorded.comparison.arms[base_index(recorded.comparison)];
    const std::string mark = " (measured before)";
    if (!arm.spec.name.ends_with(mark)) arm.spec.name += mark;
    arm.measured_before = file;
    for (auto& now : comparison.arms) {  // they are from an arm of now
        now.drift = now.allowed = Drift{};
        now.same_tokens = std::numeric_limits<double>::quiet_NaN();
    }
    comparison.arms.insert(comparison.arms.begin(), std::move(arm));
    summarise_arms(comparison);
    comparison.pairs.clear();
    judge_pairs(comparison, margin);
}

}  // namespace switchyard::compare
