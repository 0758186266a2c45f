#include "core/workbench/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <numbers>
#include <sstream>
#include <stdexcept>

#include "core/kernel/config/table.h"

namespace switchyard::train {
namespace {

// Steps of one epoch: the last one may have fewer batches.
std::int64_t steps_of(const config::TrainConfig& train, const EpochSizes& epochs, std::int64_t epoch) {
    const auto group = train.grad_accumulation_steps;
    return (epochs.batches(epoch) + group - 1) / group;
}

double all_steps(const config::TrainConfig& train, const EpochSizes& epochs, double most) {
    if (epochs.alike) return train.epochs * static_cast<double>(steps_of(train, epochs, 0));
    double steps = 0.0;
    for (std::int64_t epoch = 0; static_cast<double>(epoch) < train.epochs && steps <= most; ++epoch) {
        const double share = std::min(1.0, train.epochs - static_cast<double>(epoch));
        steps += share * static_cast<double>(steps_of(train, epochs, epoch));
    }
    return steps;
}

std::int64_t steps_of(const config::TrainConfig& train, const EpochSizes& epochs) {
    const double most = *config::find_field("train.steps")->limits.max;
    const double steps = all_steps(train, epochs, most);
    if (steps <= most) return std::max<std::int64_t>(1, std::llround(steps));
    std::ostringstream text;
    text << "train.epochs: got " << train.epochs << ", which of " << steps_of(train, epochs, 0)
         << " steps each makes more than " << std::fixed << std::setprecision(0) << most
         << " steps: lower it, or set train.steps";
    throw std::invalid_argument(text.str());
}

}  // namespace

Schedule schedule_of(const config::TrainConfig& train, const EpochSizes& epochs) {
    Schedule schedule;
    schedule.total_steps = train.steps > 0 ? train.steps : steps_of(train, epochs);
    schedule.kind = train.schedule;
    const auto share = std::llround(train.warmup_ratio * static_cast<double>(schedule.total_steps));
    schedule.warmup_steps =
        std::min<std::int64_t>(train.warmup_steps > 0 ? train.warmup_steps : share, schedule.total_steps);
    schedule.final_factor = train.final_factor;
    return schedule;
}

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
