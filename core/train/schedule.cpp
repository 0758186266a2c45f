#include <switchyard/train/schedule.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace switchyard::train {

double Schedule::factor(std::int64_t step) const {
    if (step < warmup_steps) return static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
    if (kind == config::ScheduleKind::constant) return 1.0;
    const auto decay_steps = std::max<std::int64_t>(1, total_steps - warmup_steps);
    const double done =
        std::min(1.0, static_cast<double>(step - warmup_steps) / static_cast<double>(decay_steps));
    const double left =
        kind == config::ScheduleKind::linear ? 1.0 - done : 0.5 * (1.0 + std::cos(std::numbers::pi * done));
    return final_factor + (1.0 - final_factor) * left;
}

}  // namespace switchyard::train
