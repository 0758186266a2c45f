// What is said of passes beside their times.
#include "core/workbench/compare/experiment/judge_arms.h"

#include <algorithm>
#include <cmath>

#include "core/workbench/compare/arms/generated_turn.h"

namespace switchyard::compare {

double relative_difference(double value, double base) {
    return std::abs(value - base) / std::max(std::abs(base), 1e-30);
}

void judge_passes(Comparison& comparison) {
    const bool generates = comparison.operation == Operation::generate;
    if (comparison.operation != Operation::forward && !generates) return;
    const ArmResult* base = nullptr;
    for (auto& arm : comparison.arms) {
        if (!arm.ok() || arm.losses.empty()) continue;
        if (base == nullptr)
            base = &arm;
        else if (generates)
            arm.same_tokens = same_tokens(arm.generated, base->generated);
        else if (arm.spec.differs.empty())
            arm.drift.loss = relative_difference(arm.losses.front(), base->losses.front());
    }
}

}  // namespace switchyard::compare
