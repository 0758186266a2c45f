#include "core/workbench/bench/measure/timing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/workbench/bench/measure/philox_stream.h"

namespace switchyard::bench {

namespace {

class Run {
public:
    Run(const std::vector<Arm>& arms, const TimingOptions& options, Stopwatch& stopwatch)
        : arms_(arms),
          options_(options),
          stopwatch_(stopwatch),
          random_(options.seed),
          start_ms_(stopwatch.now_ms()) {
        for (const Arm& arm : arms) result_.arms.push_back({arm.name, 1, {}, {}, 0, {}});
        result_.seed = options.seed;
    }

    TimingResult finish() {
        warm_up();
        const int blocks = plan_blocks();
        while (result_.blocks < blocks && !late()) run_block();
        result_.elapsed_ms = elapsed();
        for (ArmTiming& arm : result_.arms) summarise(arm);
        return std::move(result_);
    }

private:
    double elapsed() { return stopwatch_.now_ms() - start_ms_; }

    // In turns, as later, so that every arm is warmed up in the company of the others; call times of the last
    // turn are what is planned with.
    void warm_up() {
        call_ms_.assign(arms_.size(), 0.0);
        std::vector<double> spent(arms_.size(), 0.0);
        for (int turn = 0; turn < 2 || *std::min_element(spent.begin(), spent.end()) < options_.warm_up_ms;
             ++turn) {
            for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
                const int calls = turn == 0 ? 1 : calls_for(arm, options_.warm_up_ms / 4.0);
                const double taken = time_calls(arm, calls);
                call_ms_[arm] = taken / calls;
                if (turn > 0) spent[arm] += taken;
            }
            if (turn > 0 && elapsed() > options_.time_budget_ms / 3.0) break;
        }
        for (std::size_t arm = 0; arm < arms_.size(); ++arm)
            result_.arms[arm].calls_per_sample = calls_for(arm, options_.min_sample_ms);
    }

    int calls_for(std::size_t arm, double ms) const {
        constexpr double most = 1e6;
        const double call = std::max(call_ms_[arm], 1e-6);
        return static_cast<int>(std::clamp(std::ceil(ms / call), 1.0, most));
    }

    double time_calls(std::size_t arm, int calls) {
        const double start = stopwatch_.now_ms();
        for (int call = 0; call < calls; ++call) arms_[arm].run();
        return stopwatch_.now_ms() - start;
    }

    int plan_blocks() {
        double block_ms = 0.0;
        for (std::size_t arm = 0; arm < arms_.size(); ++arm)
            block_ms += call_ms_[arm] * result_.arms[arm].calls_per_sample;
        const double left = options_.time_budget_ms - elapsed();
        return fitting_blocks(left, std::max(block_ms, 1e-6), options_.min_blocks, options_.max_blocks);
    }

    bool late() { return result_.blocks >= options_.min_blocks && elapsed() > options_.time_budget_ms; }

    void run_block() {
        std::vector<std::size_t> order(arms_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        random_.shuffle(order);
        for (std::size_t position = 0; position < order.size(); ++position) {
            ArmTiming& arm = result_.arms[order[position]];
            const std::int64_t before = stopwatch_.involuntary_switches();
            const double taken = time_calls(order[position], arm.calls_per_sample);
            const std::int64_t switches = before < 0 ? -1 : stopwatch_.involuntary_switches() - before;
            arm.samples.push_back(
                {static_cast<int>(position), taken / arm.calls_per_sample, switches, false});
        }
        ++result_.blocks;
    }

    void summarise(ArmTiming& arm) const {
        mark_outliers(arm.samples);
        std::vector<double> good;
        for (const TimedSample& sample : arm.samples) {
            arm.block_ms.push_back(sample.outlier ? std::nullopt : std::optional(sample.ms));
            if (!sample.outlier) good.push_back(sample.ms);
        }
        arm.outliers = static_cast<int>(arm.samples.size() - good.size());
        arm.ms = median_interval(good, {.seed = options_.seed});
    }

    const std::vector<Arm>& arms_;
    const TimingOptions& options_;
    Stopwatch& stopwatch_;
    PhiloxStream random_;
    double start_ms_;
    std::vector<double> call_ms_;
    TimingResult result_;
};

}  // namespace

int fitting_blocks(double left_ms, double block_ms, int least, int most) {
    return static_cast<int>(std::clamp<double>(std::floor(left_ms / block_ms), least, std::max(least, most)));
}

Interval TimingResult::speedup_of(std::size_t arm, std::size_t base) const {
    return speedup(arms.at(base).block_ms, arms.at(arm).block_ms, {.seed = seed});
}

int TimingResult::outliers() const {
    return std::accumulate(arms.begin(), arms.end(), 0,
                           [](int sum, const ArmTiming& arm) { return sum + arm.outliers; });
}

TimingResult time_arms(const std::vector<Arm>& arms, const TimingOptions& options, Stopwatch& stopwatch) {
    if (arms.empty()) return {};
    return Run(arms, options, stopwatch).finish();
}

void mark_outliers(std::vector<TimedSample>& samples) {
    std::vector<double> ms;
    for (const TimedSample& sample : samples) ms.push_back(sample.ms);
    const double centre = median(ms);
    const double deviation = median_absolute_deviation(ms);
    std::size_t count = 0;
    for (TimedSample& sample : samples) {
        const double excess = sample.ms - centre;
        const bool long_one = excess > 3.5 * deviation && excess > 0.05 * centre;
        const bool far_out = excess > 8.0 * deviation && excess > 0.25 * centre;
        sample.outlier = far_out || (long_one && sample.involuntary_switches > 0);
        count += sample.outlier ? 1U : 0U;
    }
    if (count * 4 > samples.size()) {
        for (TimedSample& sample : samples) sample.outlier = false;
    }
}

}  // namespace switchyard::bench
