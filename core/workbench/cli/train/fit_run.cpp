#include "core/workbench/cli/train/fit_run.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/trainable.h"
#include "core/kernel/machine/available_memory.h"
#include "core/kernel/machine/host_info.h"
#include "core/workbench/bench/bench_sweep.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/compare/compare_messages.h"
#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/cli/memory_advice.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/compare/experiment/experiment.h"
#include "core/workbench/compare/fit/fit_report.h"
#include "core/workbench/train/job_data.h"
#include "core/workbench/train/session.h"

namespace switchyard::cli {
namespace {

// It says so, or the system ended it, as it does where memory has run out.
bool lacked_memory(const std::string& reason) {
    return is_out_of_memory(reason) || reason.find("signal 9") != std::string::npos;
}

// While it lives, the system ends processes that this one starts before anything else where it runs out of
// memory. It is this process's own score, which they inherit.
class EndedFirst {
public:
    EndedFirst() {
        std::ifstream(file) >> before_;
        write("1000");
    }
    ~EndedFirst() { write(before_); }
    EndedFirst(const EndedFirst&) = delete;
    EndedFirst& operator=(const EndedFirst&) = delete;

private:
    static constexpr const char* file = "/proc/self/oom_score_adj";
    static void write(const std::string& score) {
        std::ofstream(file) << score << std::flush;  // without the right to: as it was
    }
    std::string before_;
};

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

CheckedArms checked(const JobOptions& job, const HostInfo& host) {
    ArmsRequest request;
    request.job = job;
    request.least = 1;
    return check_arms(request, host);
}

}  // namespace

void add_fit_memory(CLI::App& command, std::string& memory, const std::string& what) {
    command
        .add_option("--memory", memory,
                    what + ", as 16GB; default: what the machine has left, or the device has")
        ->type_name("SIZE");
}

FitRun::FitRun(const FitRequest& request)
    : request_(request), host_(machine::this_host(machine::Look::with_devices)), guard_(folder_.path()) {
    const auto asked = asked_memory(request_.memory);
    request_.job.fits_batch = true;
    if (const auto looked = first_look(request_.job); looked && looked->batch.tokens > 0)
        throw Failure(config::told_at(*looked, "batch.tokens") +
                      "it limits a batch already; expected it left out where batch.size is looked for");
    const auto planned = plan_job(request_.job, {.missing = Missing::measure});
    refuse_lengths_of_data(planned->config, request_.lengths);
    limit_to_data(planned->config);
    const auto there = [&] {
        const auto all = memory_there(host_, planned->config.run.device);
        return static_cast<std::int64_t>(request_.share * static_cast<double>(all));
    };
    memory_ = asked ? *asked : there();
    for (auto& choice : settled_choices(*planned)) request_.job.overrides.push_back(std::move(choice));
}

// A batch of more than all samples would be one of all samples, whatever its size.
void FitRun::limit_to_data(const config::Config& config) {
    if (!config.data.given()) return;
    const auto all = train::read_data(config, train::open_tokenizer(config)).train->size();
    if (all < 1 || all >= request_.most) return;
    request_.most = all;
    most_is_ = "the training data has no more samples";
}

compare::FitResult FitRun::search(const std::function<bool()>& stop) {
    const EndedFirst ended_first;
    stop_ = stop;
    compare::FitSettings settings;
    settings.memory_bytes = memory_;
    settings.most = request_.most;
    settings.most_is = most_is_;
    settings.try_size = [this](std::int64_t size) { return try_size(size); };
    settings.stop = stop_;
    return compare::find_largest_batch(settings);
}

compare::FitSample FitRun::try_size(std::int64_t size) {
    const auto name = "batch.size=" + std::to_string(size);
    show_progress("trying " + name + ", " + request_.job.config);
    auto job = request_.job;
    job.overrides.push_back(name);
    const auto arms = checked(job, host_);
    const ArmMessages messages(arms,
                               {job, folder_.path(), compare::Operation::step, 0, request_.lengths, 0, 0});
    const auto settings = one_turn_each(messages, request_.steps, request_.timeout, stop_);
    const auto comparison = compare::run_experiment(start_arms(arms.arms, guard_, stop_), settings);
    return sample_of(size, comparison.arms.front());
}

compare::FitSample FitRun::sample_of(std::int64_t size, const compare::ArmResult& arm) {
    compare::FitSample sample;
    sample.size = size;
    sample.peak_bytes = arm.peak_memory_bytes;
    if (arm.ok()) {
        sample.outcome = compare::FitOutcome::fits;
        if (arm.samples_per_second > 0.0) sample.samples_per_second = arm.samples_per_second;
        any_fits_ = true;
        return sample;
    }
    const bool too_large = lacked_memory(arm.reason);
    // That a smaller batch needs less is known here.
    sample.reason = too_large ? arm.reason.substr(0, arm.reason.find('\n')) : arm.reason;
    sample.outcome = too_large ? compare::FitOutcome::too_large : compare::FitOutcome::failed;
    if (sample.outcome == compare::FitOutcome::failed && !any_fits_ && !stop_())
        throw Failure("batch.size = " + std::to_string(size) + ": " + arm.reason, Exit::run_failed);
    return sample;
}

JobOptions with_fitting_batch(const JobOptions& job, const std::string& recorded, const std::string& memory) {
    const auto looked = first_look(job);
    if (!looked || !looked->batch.fit) return job;
    auto settled = job;
    if (!recorded.empty()) {
        JobOptions begun_job;
        begun_job.config = recorded;
        begun_job.of_run = true;
        const auto begun = first_look(begun_job);
        if (!begun || begun->batch.fit)
            throw Failure(recorded + ": error: batch.size: expected the number that the run began with");
        settled.overrides.push_back("batch.size=" + std::to_string(begun->batch.size));
        return settled;
    }
    train::check_job(*looked);  // what each size would find is told once
    (void)train::open_tokenizer(*looked);
    FitRequest request;
    request.job = job;
    request.memory = memory;
    request.share = 0.9;
    FitRun run(request);
    const auto result = run.search([] { return false; });
    show_progress("");
    if (result.largest == 0) throw Failure(compare::fit_text(result, run.memory()), Exit::run_failed);
    const auto size = "batch.size=" + std::to_string(result.largest);
    std::cerr << (size + " fits into " + base::bytes_text(static_cast<double>(run.memory())) +
                  " (batch.size = \"fit\")\n");
    settled.overrides.push_back(size);
    return settled;
}

}  // namespace switchyard::cli
