#include "core/workbench/profile/profile_run.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/torch_types.h>
#include "core/workbench/bench/measure/memory.h"
#include "core/workbench/model/step_flops.h"
#include "core/workbench/profile/memory_step.h"
#include "core/workbench/profile/recorder.h"
#include "core/workbench/profile/summarize.h"
#include "core/workbench/train/parameter_groups.h"

namespace switchyard::profile {
namespace {

double milliseconds_of(const std::function<void()>& run) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// Of this thread alone, whoever else has the processor meanwhile.
double processor_milliseconds(const std::function<void()>& run) {
    const auto now = [] {
        timespec at{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
        return static_cast<double>(at.tv_sec) * 1e3 + static_cast<double>(at.tv_nsec) * 1e-6;
    };
    const double begin = now();
    run();
    return now() - begin;
}

class Running {
public:
    Running(train::Session& session, train::Trainer& trainer, const Schedule& schedule, const RunHooks& hooks)
        : session_(session),
          trainer_(trainer),
          schedule_(schedule),
          hooks_(hooks),
          device_(to_device_type(session.config().run.device)),
          recorder_(device_.is_cpu() ? std::function<void()>() : [this] { bench::synchronize(device_); }) {}

    ProfileRun run() {
        const auto& config = session_.config();
        const auto trained = [&](const std::string& name) { return train::is_trained(config, name); };
        costs_ = model::step_flops(config, trained);
        for (std::int64_t repeat = 0; repeat < schedule_.repeat && !ended(); ++repeat) {
            for (std::int64_t i = 0; i < schedule_.wait && !ended(); ++i) plain_step();
            for (std::int64_t i = 0; i < schedule_.warmup && !ended(); ++i) warm_up();
            for (std::int64_t i = 0; i < schedule_.active && !ended(); ++i) active_step();
        }
        if (!ended()) step_for_memory();
        return std::move(run_);
    }

private:
    bool ended() {
        if (!run_.nonfinite.empty() || run_.stopped) return true;
        run_.stopped = hooks_.stop && hooks_.stop();
        if (!run_.stopped && hooks_.progress) hooks_.progress(done_, schedule_.steps() + 1);
        return run_.stopped;
    }

    train::StepReport step(std::vector<Batch>& batches) {
        auto report = trainer_.step(batches);
        keep_nonfinite(report);
        return report;
    }

    void keep_nonfinite(const train::StepReport& report) {
        if (!report.skipped && !report.nonfinite.empty()) run_.nonfinite = report.nonfinite;
    }

    void plain_step() {
        auto batches = trainer_.next_group();
        step(batches);
        ++done_;
    }

    void warm_up() {
        {
            const Observing observing(recorder_);
            observed_step(next_batches());
        }
        recorder_.take();
        ++done_;
    }

    std::vector<Batch> next_batches() {
        const StepScope scope(recorder_, "data");
        return trainer_.next_group();
    }

    train::StepReport observed_step(std::vector<Batch> batches) {
        const StepScope scope(recorder_, "step");
        return step(batches);
    }

    // Where this thread computes, its time on a processor: that of others does not count.
    double time_of_step(const std::function<void()>& run) const {
        return device_.is_cpu() ? processor_milliseconds(run) : milliseconds_of(run);
    }

    void active_step() {
        const auto loaded = session_.train_loader().stats();
        std::vector<Batch> batches;
        {
            const Observing observing(recorder_);
            batches = next_batches();
        }
        const bool plain_first = run_.pairs.size() % 2 == 1;
        std::pair<double, double> times;
        const auto plain = [&] { times.second = time_of_step([&] { step(batches); }); };
        if (plain_first) plain();
        {
            const Observing observing(recorder_);
            train::StepReport report;
            times.first = time_of_step([&] {
                const StepScope scope(recorder_, "step");
                report = step(batches);
            });
            run_.tokens += static_cast<double>(report.tokens);
            run_.samples += static_cast<double>(report.samples);
            if (costs_) run_.model_flops += model::total(report.work, *costs_);
        }
        if (!plain_first) plain();
        run_.places += static_cast<double>((session_.train_loader().stats() - loaded).places);
        run_.steps.push_back(recorder_.take());
        run_.pairs.push_back(times);
        ++done_;
    }

    void step_for_memory() {
        auto last = memory_step(session_, trainer_, trainer_.next_group());
        keep_nonfinite(last.report);
        run_.optimizer = last.optimizer;
        run_.memory = std::move(last.memory);
        run_.memory_step = std::move(last.recording);
    }

    train::Session& session_;
    train::Trainer& trainer_;
    const Schedule& schedule_;
    const RunHooks& hooks_;
    c10::Device device_;
    Recorder recorder_;
    std::optional<model::Work> costs_;
    std::int64_t done_ = 0;
    ProfileRun run_;
};

}  // namespace

ProfileRun run_profile(train::Session& session, train::Trainer& trainer, const Schedule& schedule,
                       const RunHooks& hooks) {
    return Running(session, trainer, schedule, hooks).run();
}

double observing_microseconds() {
    constexpr int turns = 7, calls = 2000;
    const at::NoGradGuard no_grad;
    auto small = at::zeros({8});
    const auto many = [&] {
        for (int i = 0; i < calls; ++i) small.add_(1.0);
    };
    Recorder recorder;
    double observed = std::numeric_limits<double>::infinity(), plain = observed, events = 0.0;
    for (int turn = 0; turn < turns; ++turn) {
        plain = std::min(plain, processor_milliseconds(many));
        const Observing observing(recorder);
        observed = std::min(observed, processor_milliseconds(many));
        events = static_cast<double>(recorder.take().events.size());
    }
    return std::max(0.0, (observed - plain) * 1e3 / std::max(events, 1.0));
}

Profile summarize(const ProfileRun& run, const Schedule& schedule) {
    auto profile = summarize(run.steps, run.pairs, run.optimizer);
    const auto steps = static_cast<double>(std::max<std::size_t>(run.steps.size(), 1));
    profile.schedule = schedule;
    profile.tokens = run.tokens / steps;
    profile.samples = run.samples / steps;
    profile.padding = run.places > 0.0 ? std::max(0.0, 1.0 - run.tokens / run.places) : 0.0;
    profile.model_flops = run.model_flops / steps;
    profile.memory = memory_profile(run.memory_step, run.memory);
    return profile;
}

}  // namespace switchyard::profile
