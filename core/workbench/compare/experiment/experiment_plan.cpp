#include "core/workbench/compare/experiment/experiment_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace switchyard::compare {
namespace {

constexpr int least_blocks_of_round = 3;  // with fewer there is no telling how alike neighbours are

// Where it is not said: as many as a third of the time can start, or the fewest that are of use if half of it
// can.
int choose_rounds(const ExperimentSettings& settings, const Measured& measured) {
    if (measured.restart_ms <= 0.0) return 1;
    if (settings.rounds > 0)
        return settings.blocks > 0 ? std::min(settings.rounds, settings.blocks) : settings.rounds;
    const double left = std::max(0.0, settings.time_ms - measured.used_ms);
    const auto fitting = [&](double share) {
        return 1 + static_cast<int>(
                       std::min<double>(most_rounds, std::floor(share * left / measured.restart_ms)));
    };
    int rounds = std::min(fitting(1.0 / 3.0), most_rounds);
    if (rounds < least_rounds && fitting(0.5) >= least_rounds) rounds = least_rounds;
    if (settings.blocks > 0) rounds = std::min(rounds, settings.blocks / least_blocks_of_round);
    return rounds < least_rounds ? 1 : rounds;
}

}  // namespace

std::int64_t times_longer(double left_ms, double block_ms, int most) {
    return static_cast<std::int64_t>(std::max(1.0, left_ms / block_ms / most));
}

ExperimentPlan plan_experiment(const ExperimentSettings& settings, const Measured& measured) {
    constexpr std::int64_t most_steps = 500;  // of one block
    ExperimentPlan plan;
    if (measured.step_ms.empty()) return plan;
    const double fastest =
        std::max(1e-3, *std::min_element(measured.step_ms.begin(), measured.step_ms.end()));
    const double sum = std::accumulate(measured.step_ms.begin(), measured.step_ms.end(), 0.0);
    const auto enough = static_cast<std::int64_t>(std::ceil(settings.min_turn_ms / fastest));
    plan.steps_per_block = settings.steps_per_block > 0 ? settings.steps_per_block
                                                        : std::clamp<std::int64_t>(enough, 1, most_steps);
    // Caches are cold after the others' turns: where a step is short, that would be seen.
    if (fastest < settings.min_turn_ms)
        plan.lead_in =
            std::clamp(enough / 10, std::int64_t{1}, std::max<std::int64_t>(1, plan.steps_per_block));
    plan.rounds = choose_rounds(settings, measured);
    const double left = settings.time_ms - measured.used_ms - measured.restart_ms * (plan.rounds - 1);
    const auto block_ms = [&] { return sum * static_cast<double>(plan.steps_per_block + plan.lead_in); };
    if (settings.steps_per_block == 0 && settings.blocks == 0)
        plan.steps_per_block =
            std::min(most_steps, plan.steps_per_block * times_longer(left, block_ms(), settings.max_blocks));
    plan.block_ms = block_ms();
    const int least = std::max(settings.min_blocks, 2 * plan.rounds);
    const int fitting = bench::fitting_blocks(left, plan.block_ms, least, settings.max_blocks);
    plan.blocks =
        settings.blocks > 0 ? settings.blocks : std::max(least, fitting / plan.rounds * plan.rounds);
    return plan;
}

void add_rounds(ExperimentPlan& plan, const ExperimentSettings& settings, double used_ms, double restart_ms) {
    if (settings.rounds > 0 || settings.blocks > 0 || plan.blocks % plan.rounds != 0) return;
    const int blocks_of_each = plan.blocks / plan.rounds;
    const double round_ms = restart_ms + plan.block_ms * blocks_of_each;
    const int most = std::min(most_rounds_in_the_end, settings.max_blocks / blocks_of_each);
    // One is over, and the next has been started.
    const double fitting = 1.0 + std::floor((settings.time_ms - used_ms + restart_ms) / round_ms);
    if (fitting <= plan.rounds || most <= plan.rounds) return;
    plan.rounds = static_cast<int>(std::min<double>(fitting, most));
    plan.blocks = plan.rounds * blocks_of_each;
}

}  // namespace switchyard::compare
