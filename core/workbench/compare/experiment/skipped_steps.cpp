#include "core/workbench/compare/experiment/skipped_steps.h"

namespace switchyard::compare {

void keep_skips(const Turn& turn, std::int64_t steps, std::vector<bool>& skipped) {
    for (std::int64_t step = 0; step < steps; ++step) {
        skipped.push_back(turn.step_skipped.empty() ? step < turn.skipped
                                                    : turn.step_skipped[static_cast<std::size_t>(step)] > 0);
    }
}

}  // namespace switchyard::compare
