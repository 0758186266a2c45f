// switchyard fit CONFIG: the largest batch.size whose training step stays within a memory. Each size runs in
// a process of its own, as an arm of a comparison does, so that one that needs too much ends by itself.
#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/machine/available_memory.h"
#include "core/kernel/machine/host_info.h"
#include "core/workbench/bench/bench_sweep.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/compare_messages.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/planned_job.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/cli/started_arms.h"
#include "core/workbench/compare/experiment/experiment.h"
#include "core/workbench/compare/fit/fit_report.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

struct FitOptions {
    JobOptions job;
    std::string memory;
    std::string lengths;
    compare::FitSettings search;
    std::int64_t steps = 3;
    double timeout = 300.0;
    JsonOption json;
};

// What a process says that could not get memory: C++'s and LibTorch's words, on a CPU and on CUDA.
bool tells_of_memory(const std::string& reason) {
    constexpr std::array<std::string_view, 4> words{"out of memory", "can't allocate memory",
                                                    "not enough memory", "signal 9"};
    return std::ranges::any_of(words,
                               [&](std::string_view word) { return reason.find(word) != std::string::npos; });
}

// Where the system runs out of memory, it ends this process's children before anything else.
void offer_children_first() {
    std::ofstream score("/proc/self/oom_score_adj");
    score << 1000 << std::flush;  // without the right to: as it was
}

// --memory; nothing: it is not given.
std::optional<std::int64_t> asked_memory(const std::string& text) {
    if (text.empty()) return std::nullopt;
    const auto bytes = bench::read_bytes(text);
    if (bytes && *bytes > 0) return bytes;
    throw Failure("--memory " + base::quoted(text) +
                  ": expected a size, as 16GB, 500MB or a number of bytes");
}

std::int64_t memory_there(const HostInfo& host, Device device) {
    if (device == Device::cuda && !host.devices.empty()) return host.devices.front().memory_bytes;
    const auto left = device == Device::cpu ? machine::available_memory() : std::nullopt;
    if (!left) throw Failure("the memory that there is is not known; expected --memory SIZE, as 16GB");
    return *left;
}

// "attention.backend=[\"flash/flash\"]" for every slot that `auto` chose for, by times or priority: all sizes
// then run the same, and nothing is timed anew for each.
std::vector<std::string> settled_choices(const PlannedJob& planned) {
    using Names = std::vector<std::string>;
    std::vector<std::pair<std::string, Names>> slots;  // in the order of the plan
    for (const auto& row : planned.plan.rows) {
        if (!row.chosen || !row.how.starts_with("auto")) continue;
        const std::string slot(row.use.slot.substr(0, row.use.slot.find('.')));
        auto found = std::ranges::find(slots, slot, &std::pair<std::string, Names>::first);
        if (found == slots.end()) found = slots.insert(slots.end(), {slot, {}});
        if (const auto name = full_name(*row.chosen); std::ranges::count(found->second, name) == 0)
            found->second.push_back(name);
    }
    std::vector<std::string> overrides;
    if (const auto layout = planned.config.batch.layout)
        overrides.push_back("batch.layout=" + std::string(name(*layout)));
    for (const auto& [slot, names] : slots)
        overrides.push_back(slot + ".backend=" + nlohmann::json(names).dump());
    return overrides;
}

class FitRun {
public:
    explicit FitRun(const FitOptions& options)
        : options_(options), host_(machine::this_host(machine::Look::with_devices)), guard_(folder_.path()) {
        const auto asked = asked_memory(options.memory);
        const auto planned = plan_job(options.job, {.missing = Missing::measure});
        if (planned->config.data.given() && !options.lengths.empty())
            throw Failure("--lengths is for random samples; the configuration has data.train");
        memory_ = asked ? *asked : memory_there(host_, planned->config.run.device);
        job_ = options.job;
        for (auto& choice : settled_choices(*planned)) job_.overrides.push_back(std::move(choice));
    }

    int run() {
        offer_children_first();
        stop_.note();  // what is known by then is shown
        auto search = options_.search;
        search.memory_bytes = memory_;
        search.try_size = [this](std::int64_t size) { return try_size(size); };
        search.stop = [this] { return static_cast<bool>(stop_); };
        const auto result = compare::find_largest_batch(search);
        const int stopped = stop_.exit_code();
        stop_.end_at_once();
        show_progress("");
        auto json = compare::fit_json(result, memory_);
        json["command"] = command_line();
        write_json(options_.json, json);
        if (!options_.json.on_stdout()) std::cout << compare::fit_text(result, memory_);
        if (result.stopped) return stopped;
        return result.largest > 0 ? Exit::fine : Exit::run_failed;
    }

private:
    CheckedArms checked(const JobOptions& job) const {
        ArmsRequest request;
        request.job = job;
        request.least = 1;
        return check_arms(request, host_);
    }

    compare::FitSample try_size(std::int64_t size) {
        const auto name = "batch.size=" + std::to_string(size);
        show_progress("trying " + name + ", " + options_.job.config);
        auto job = job_;
        job.overrides.push_back(name);
        const auto arms = checked(job);
        const ArmMessages messages(
            arms, {job, folder_.path(), compare::Operation::step, 0, options_.lengths, 0, 0});
        compare::ExperimentSettings settings;
        settings.blocks = settings.rounds = 1;
        settings.steps_per_block = options_.steps;
        settings.time_ms = settings.warm_up_ms = settings.min_turn_ms = 1.0;  // two turns to warm up
        settings.timeout_ms = options_.timeout * 1e3;
        settings.prepare = [&](const compare::Preparation& what) { return messages.prepare(what); };
        settings.drift = [](std::size_t, std::size_t) { return compare::Drift{}; };
        settings.shared_steps = [](int) { return std::vector<compare::StepCounts>{}; };
        settings.progress = [](const compare::ExperimentProgress&) {};
        settings.stop = [this] { return static_cast<bool>(stop_); };
        const auto comparison = compare::run_experiment(
            start_arms(arms.arms, guard_, [this] { return static_cast<bool>(stop_); }), settings);
        return sample_of(size, comparison.arms.front());
    }

    compare::FitSample sample_of(std::int64_t size, const compare::ArmResult& arm) {
        compare::FitSample sample;
        sample.size = size;
        sample.peak_bytes = arm.peak_memory_bytes;
        const bool ran = arm.ok() || arm.status == compare::ArmStatus::nan;  // whose numbers take as much
        if (ran) {
            sample.outcome = compare::FitOutcome::fits;
            if (arm.samples_per_second > 0.0) sample.samples_per_second = arm.samples_per_second;
            any_fits_ = true;
            return sample;
        }
        sample.reason = arm.reason;
        sample.outcome =
            tells_of_memory(arm.reason) ? compare::FitOutcome::too_large : compare::FitOutcome::failed;
        if (sample.outcome == compare::FitOutcome::failed && !any_fits_ && !stop_)
            throw Failure("batch.size = " + std::to_string(size) + ": " + arm.reason, Exit::run_failed);
        return sample;
    }

    const FitOptions& options_;
    HostInfo host_;
    std::int64_t memory_ = 0;
    JobOptions job_;  // with what was chosen for it
    bool any_fits_ = false;
    ArmFolder folder_;
    compare::ArmGuard guard_;
    train::StopSignal stop_;
};

}  // namespace

Action setup_fit(CLI::App& command) {
    const auto options = std::make_shared<FitOptions>();
    add_job_options(command, options->job);
    command
        .add_option("--memory", options->memory,
                    "what a step may take, as 16GB; default: what the machine has left, or the device has")
        ->type_name("SIZE");
    add_number(command, "--most", options->search.most, "the largest batch that is tried", "N",
               whole_number(1, 1 << 24))
        ->capture_default_str();
    add_number(command, "--steps", options->steps, "that are timed of each size, after some that are not",
               "N", whole_number(1, 10000))
        ->capture_default_str();
    add_number(command, "--timeout", options->timeout,
               "longest time for a size to prepare, and for its steps", "SECONDS", number(0.001, 1e9))
        ->capture_default_str();
    command
        .add_option("--lengths", options->lengths,
                    "lengths of the random samples where the job has no data, as 8-64")
        ->type_name("MIN-MAX");
    add_json(command, options->json);
    return [options] { return FitRun(*options).run(); };
}

}  // namespace switchyard::cli
