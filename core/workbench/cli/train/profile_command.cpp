// switchyard profile CONFIG
#include <iostream>
#include <memory>
#include <optional>

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/workbench/bench/bench_settings.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/program_version.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/cli/train/profile_facts.h"
#include "core/workbench/compare/arms/random_samples.h"
#include "core/workbench/profile/profile_report.h"
#include "core/workbench/profile/profile_run.h"
#include "core/workbench/train/session.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

struct ProfileCommand {
    JobOptions job;
    profile::Schedule schedule;
    std::string lengths, html, trace;
    JsonOption json;
};

// The steps of a job; on random samples where it has no data, as in a comparison.
class ProfiledJob {
public:
    ProfiledJob(PlannedJob& planned, const std::optional<bench::LengthRange>& lengths,
                const profile::Schedule& schedule)
        : session_(planned.config, planned.plan, *planned.registry, planned.host) {
        const auto& config = session_.config();
        if (config.data.given()) {
            session_.load_tokenizer();
            session_.load_data();
        }
        session_.load_initial_weights();
        if (config.data.given()) {
            trainer_.emplace(session_.make_trainer());
            return;
        }
        const auto count = config.batch.size * config.train.grad_accumulation_steps * (schedule.steps() + 1);
        trainer_.emplace(session_.make_trainer(std::make_shared<data::SampleList>(
            compare::random_samples(config, count, lengths, static_cast<std::uint64_t>(config.run.seed)))));
    }

    profile::ProfileRun run(const profile::Schedule& schedule, const train::StopSignal& stop) {
        const profile::RunHooks hooks{
            [](std::int64_t done, std::int64_t all) {
                show_progress("step " + std::to_string(done + 1) + " of " + std::to_string(all),
                              static_cast<double>(done) / static_cast<double>(all));
            },
            [&] { return static_cast<bool>(stop); }};
        auto run = profile::run_profile(session_, *trainer_, schedule, hooks);
        show_progress("");
        return run;
    }

private:
    train::Session session_;
    std::optional<train::Trainer> trainer_;
};

std::optional<bench::LengthRange> asked_lengths(const ProfileCommand& command) {
    std::optional<bench::LengthRange> lengths;
    if (command.lengths.empty()) return lengths;
    if (const auto error = bench::read_lengths(command.lengths, lengths); !error.empty())
        throw Failure("--lengths " + error);
    return lengths;
}

void write(const ProfileCommand& command, const profile::Profile& profile, const profile::ProfileRun& run,
           const profile::ProfileFacts& facts) {
    write_json(command.json, profile::profile_json(profile, facts));
    if (!command.html.empty()) write_file(command.html, profile::profile_page(profile, facts));
    if (!command.trace.empty())
        write_file(command.trace, profile::chrome_trace(run.steps, run.memory_step, profile.memory));
    if (!command.json.on_stdout()) std::cout << profile::profile_text(profile, facts);
}

int profile_job(const ProfileCommand& command) {
    const auto lengths = asked_lengths(command);
    train::StopSignal stop;
    const auto planned = plan_job(command.job, {.missing = Missing::measure});
    refuse_lengths_of_data(planned->config, command.lengths);
    // Replayed from a graph, a step has no operators.
    planned->config.train.cuda_graph = false;
    ProfiledJob job(*planned, lengths, command.schedule);
    profile::Roofs roofs;
    sample_roofs(*planned, roofs);
    stop.note();
    const auto run = job.run(command.schedule, stop);
    if (!run.nonfinite.empty()) throw Failure(run.nonfinite, Exit::numerics);
    if (run.stopped) return stop.exit_code();
    sample_roofs(*planned, roofs);
    auto profile = profile::summarize(run, command.schedule);
    profile.roofs = roofs;
    profile.event_us = profile::observing_microseconds();
    const auto known = job_facts(*planned, profile);
    profile.advice = profile::advise(profile, known);
    profile.timed = known.timed;
    profile.timed.insert(profile.timed.end(), known.narrow.begin(), known.narrow.end());
    profile::ProfileFacts facts;
    facts.config = command.job.config;
    facts.host = planned->host.cpu_model;
    facts.threads = at::get_num_threads();
    facts.command = command_line();
    write(command, profile, run, facts);
    return Exit::fine;
}

}  // namespace

Action setup_profile(CLI::App& command) {
    const auto options = std::make_shared<ProfileCommand>();
    add_job_options(command, options->job);
    auto& schedule = options->schedule;
    constexpr std::int64_t most = 10000;
    add_number(command, "--wait", schedule.wait, "steps of each repeat that run as they are, first", "N",
               whole_number(0, most))
        ->capture_default_str();
    add_number(command, "--warmup", schedule.warmup, "steps that are observed and not kept, then", "N",
               whole_number(0, most))
        ->capture_default_str();
    add_number(command, "--active", schedule.active, "steps that are observed and kept, then", "N",
               whole_number(1, most))
        ->capture_default_str();
    add_number(command, "--repeat", schedule.repeat, "how often that is done", "N", whole_number(1, most))
        ->capture_default_str();
    command
        .add_option("--lengths", options->lengths,
                    "lengths of the random samples where the job has no data, as 8-64")
        ->type_name("MIN-MAX");
    command.add_option("--html", options->html, "HTML page with a roofline and the memory over time")
        ->check(output_file())
        ->type_name("FILE");
    command
        .add_option("--trace", options->trace,
                    "every event of the observed steps, for Perfetto or chrome://tracing")
        ->check(output_file())
        ->type_name("FILE");
    add_json(command, options->json);
    return [options] { return profile_job(*options); };
}

}  // namespace switchyard::cli
