// switchyard bench inference CONFIG|RUN|FOLDER: latencies of a model that is used, by arms that take turns.
#include <algorithm>
#include <iostream>
#include <memory>

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <switchyard/interfaces/torch_types.h>
#include "core/kernel/base/input_error.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/show.h"
#include "core/kernel/machine/cpu_allocator.h"
#include "core/kernel/machine/host_info.h"
#include "core/workbench/bench/bench_report.h"
#include "core/workbench/bench/measure/memory.h"
#include "core/workbench/bench/measure/peak_meter.h"
#include "core/workbench/bench/measure/text_table.h"
#include "core/workbench/cli/bench/inference_messages.h"
#include "core/workbench/cli/bench/inference_workloads.h"
#include "core/workbench/cli/compare/compare_arms.h"
#include "core/workbench/cli/compare/compare_command.h"
#include "core/workbench/cli/compare/started_arms.h"
#include "core/workbench/cli/job/auto_choice.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/cli/runtime_setup.h"
#include "core/workbench/cli/temporary_folder.h"
#include "core/workbench/cli/train/run_name.h"
#include "core/workbench/compare/arms/first_step_file.h"
#include "core/workbench/compare/arms/grown_rows.h"
#include "core/workbench/compare/inference/inference_experiment.h"
#include "core/workbench/compare/inference/inference_page.h"
#include "core/workbench/compare/inference/inference_report.h"
#include "core/workbench/model/cache/planned_cache.h"
#include "core/workbench/report/record_parts.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

struct InferenceOptions {
    std::string what;  // CONFIG, RUN or FOLDER
    JobOptions job;
    compare::WrittenArms written;
    bool force = false;
    WorkloadOptions workloads;
    bool uncached = false, cache_table = false;
    double seconds = 60.0;
    double timeout = 600.0;
    int blocks = 0;
    int rounds = 0;
    std::uint64_t order = 0;
    JsonOption json;
    std::string html;
};

JobOptions job_of(const InferenceOptions& options) {
    if (!names_run(options.what)) {
        auto job = options.job;
        job.config = options.what;
        return job;
    }
    const auto run = find_run(options.what);
    std::cerr << run.note;
    return job_of_run(run, options.job);
}

// The job as batches of these workloads need it, whatever [batch] says of training.
void imply_batches(const std::vector<compare::Workload>& workloads, const config::Config& config,
                   JobOptions& job) {
    std::int64_t batch = 1, longest = 1;
    for (const auto& workload : workloads) {
        batch = std::max(batch, workload.batch);
        longest = std::max(longest, longest_row(workload, config));
    }
    const std::pair<const char*, std::string> implied[] = {
        {"--batch", "batch.size=" + std::to_string(batch)},
        {"--batch", "batch.tokens=0"},
        {"--length", "batch.min_length=1"},
        {"--length", "batch.max_length=" + std::to_string(longest)}};
    for (const auto& [place, text] : implied) job.implied.push_back({place, text});
}

// Arms of the command line whose first word is no KEY=VALUE are programs.
void part_programs(compare::WrittenArms& written) {
    std::vector<std::string> values;
    for (auto& arm : written.arms) {
        const auto colon = arm.find(':');
        const auto begin = colon == std::string::npos ? colon : arm.find_first_not_of(' ', colon + 1);
        const auto word = begin == std::string::npos ? "" : arm.substr(begin, arm.find(' ', begin) - begin);
        const bool program = !word.empty() && word.find('=') == std::string::npos;
        (program ? written.programs : values).push_back(std::move(arm));
    }
    written.arms = std::move(values);
}

// The first arm once more, without a cache.
void add_uncached(CheckedArms& checked) {
    auto arm = checked.arms[checked.reference_arm];
    arm.name += ", no cache";
    arm.cached = false;
    checked.arms.push_back(std::move(arm));
}

// Why the machine cannot keep what the largest of these workloads caches; empty: it can.
std::string cache_problem(const config::Config& config, const resolver::Plan& plan,
                          const std::vector<compare::Workload>& workloads) {
    try {
        for (const auto& workload : workloads)
            model::require_memory(
                model::planned_caches(config, plan, compare::cache_limits(workload, config)));
    } catch (const base::InputError& error) {
        return error.what();
    }
    return "";
}

class InferenceBench {
public:
    explicit InferenceBench(const InferenceOptions& options)
        : options_(options),
          host_(machine::this_host(machine::Look::with_devices)),
          job_(job_of(options)),
          facts_(load_job(job_, host_).config),
          operation_(operation_of(facts_, options.workloads)),
          workloads_(list_workloads(options.workloads, facts_, operation_)) {
        load_device(host_, facts_.run.device);
        imply_batches(workloads_, facts_, job_);
        const bool generates = operation_ == compare::Operation::generate;
        ArmsRequest request{job_,
                            options.written,
                            operation_,
                            options.force,
                            generates ? Purpose::generation : Purpose::inference,
                            1};
        if (generates)
            request.further_problem = [this](const auto& config, const auto& plan) {
                return cache_problem(config, plan, workloads_);
            };
        checked_ = check_arms(request, host_);
        for (const auto& arm : checked_.arms) {
            if (arm.slowed > 0.0)
                throw Failure("arm \"" + arm.name +
                              "\": slowed is of the steps that `switchyard compare` times; bench inference "
                              "slows no arm");
        }
        if (options.uncached && operation_ != compare::Operation::generate)
            throw Failure("--uncached is of generation, and nothing is generated here");
        if (options.uncached) add_uncached(checked_);
        messages_ =
            std::make_unique<InferenceMessages>(checked_, job_, folder_.path(), operation_, workloads_);
    }

    int run() {
        stop_.note();  // what is timed by then is shown
        const auto device = c10::Device(to_device_type(checked_.config.run.device));
        machine::install_cpu_allocator(checked_.config.runtime.allocator);
        set_threads(checked_.config.runtime.threads);
        bench::HostStopwatch stopwatch([device] { bench::synchronize(device); });
        bench::PeakMeter meter({}, device, host_, stopwatch);
        auto settings = read_settings();
        settings.sample_machine = [&meter] { meter.sample(); };
        settings.peaks = [&meter] { return meter.peaks(); };
        compare::ArmGuard guard(folder_.path());
        settings.start = [&](std::size_t arm, std::string& error) {
            return start_arm(
                checked_.arms[arm], guard, [this] { return static_cast<bool>(stop_); }, error);
        };
        const auto result = compare::run_inference(
            start_arms(checked_.arms, guard, [this] { return static_cast<bool>(stop_); }), settings);
        const int stopped = stop_.exit_code();
        stop_.end_at_once();
        show_progress("");
        write_json(options_.json, complete_json(result));
        if (!options_.html.empty()) write_file(options_.html, page(result));
        if (!options_.json.on_stdout())
            std::cout << bench::wrap(title(), 100, "  ") << "\n\n" << compare::to_text(result);
        return result.stopped ? stopped : result.exit_code();
    }

private:
    compare::InferenceSettings read_settings() const {
        compare::InferenceSettings settings;
        settings.operation = operation_;
        settings.workloads = workloads_;
        settings.vocabulary = checked_.config.model.vocab_size;
        settings.blocks = options_.blocks;
        settings.rounds = options_.rounds;
        if (options_.blocks > 0 && options_.rounds > options_.blocks)
            throw Failure("--rounds " + std::to_string(options_.rounds) +
                          ": a round has a block at least; --blocks is " + std::to_string(options_.blocks));
        settings.time_ms = options_.seconds * 1e3;
        settings.timeout_ms = options_.timeout * 1e3;
        settings.seed = options_.order;
        settings.reference_arm = checked_.reference_arm;
        settings.prepare = [this](std::size_t arm, int round) { return messages_->prepare(arm, round); };
        settings.drift = [this](std::size_t arm, std::size_t base) {
            return compare::drift_between(messages_->first_file(base), messages_->first_file(arm)).output;
        };
        settings.progress = [](const compare::ExperimentProgress& at) {
            show_progress(at.text, at.share, at.seconds_left);
        };
        return settings;
    }

    std::string title() const {
        const auto& m = checked_.config.model;
        return std::string(name(m.type)) + ", " + counted(static_cast<std::size_t>(m.layers), "layer") +
               ", hidden " + std::to_string(m.hidden_size) + "; " +
               (operation_ == compare::Operation::generate
                    ? "generation after random tokens: batch x prompt + new tokens"
                    : "forward passes over random tokens: batch x length") +
               "; " + std::to_string(at::get_num_threads()) + " threads";
    }

    nlohmann::ordered_json complete_json(const compare::InferenceResult& result) const {
        auto json = compare::to_json(result);
        json["title"] = title();
        json["config"] = options_.what;
        json["config_fingerprint"] = config::fingerprint(checked_.config);
        json["threads"] = at::get_num_threads();
        json["host"] = bench::to_json(host_);
        json["command"] = command_line();
        return json;
    }

    std::string page(const compare::InferenceResult& result) const {
        return compare::inference_page(result, {title(), options_.what, config::fingerprint(checked_.config),
                                                command_line(), report::host_facts(bench::to_json(host_))});
    }

    const InferenceOptions& options_;
    train::StopSignal stop_;
    HostInfo host_;
    JobOptions job_;
    config::Config facts_;  // of the job, before arms and workloads
    compare::Operation operation_;
    std::vector<compare::Workload> workloads_;
    CheckedArms checked_;
    TemporaryFolder folder_;
    std::unique_ptr<InferenceMessages> messages_;
};

void add_arms(CLI::App& command, InferenceOptions& options) {
    const auto repeated = [&](const char* flag, std::vector<std::string>& value, const std::string& help) {
        return command.add_option(flag, value, help)->expected(1)->allow_extra_args(false)->take_all();
    };
    repeated("--vary", options.written.vary, "an arm for each value; repeated: for each combination")
        ->type_name("KEY=A,B");
    repeated("--arm", options.written.arms,
             "an arm with several values, as \"half: precision.backend=amp/bf16_pure\"; or a program, as "
             "\"PyTorch: python3 examples/peers/transformers_peer.py\"")
        ->type_name("NAME: ...");
    command.add_flag("--uncached", options.uncached,
                     "the first arm once more, without a cache: each token runs all before it again");
    command.add_flag("--cache-table", options.cache_table,
                     "what a cache saves: --uncached with one prompt of 16 tokens and 100, 500 and 1000 new "
                     "ones, unless other options say otherwise");
    command.add_flag("--force", options.force,
                     "compare arms of different models or weights too; the output says so");
}

void add_workloads(CLI::App& command, WorkloadOptions& options) {
    const auto list = [&](const char* flag, auto& value, const std::string& help) {
        return command.add_option(flag, value, help)
            ->delimiter(',')
            ->expected(1)
            ->allow_extra_args(false)
            ->take_all();
    };
    list("--batch", options.batches, "sequences at once; default: 1,8")
        ->type_name("N,N")
        ->check(whole_number(1, 65536));
    list("--length", options.lengths,
         "tokens of each sequence, or prompt; a range as 8-128, or a median and a largest length as 40:512, "
         "for unequal ones; default: 128")
        ->type_name("N,N");
    list("--tokens", options.tokens,
         "new tokens after each prompt; 0: only a forward pass; default: 64, of models that generate")
        ->type_name("N,N")
        ->check(whole_number(0, 1'000'000));
}

}  // namespace

Action setup_bench_inference(CLI::App& command) {
    const auto options = std::make_shared<InferenceOptions>();
    command
        .add_option("CONFIG|RUN|FOLDER", options->what,
                    std::string("a configuration, whose model is drawn at random; or ") + named_run_help)
        ->required()
        ->type_name("");
    add_workloads(command, options->workloads);
    add_arms(command, *options);
    add_number(command, "--seconds", options->seconds, "time for all workloads and arms, roughly", "SECONDS",
               number(1e-3, 1e9))
        ->capture_default_str();
    add_number(command, "--blocks", options->blocks,
               "blocks of each workload, however long they take; default: as many as fit, 6 to 500", "N",
               whole_number(1, 10000));
    add_number(
        command, "--rounds", options->rounds,
        "how often each arm is started anew, the blocks divided among the starts; default: 5 where half "
        "of the time allows that, or 1",
        "N", whole_number(1, 1000));
    add_number(command, "--timeout", options->timeout, "longest time for an arm to prepare, and for a block",
               "SECONDS", number(1e-3, 1e9))
        ->capture_default_str();
    add_number(command, "--order-seed", options->order,
               "seed of the order within blocks and of the intervals", "N", whole_number(0))
        ->capture_default_str();
    add_overrides(command, options->job, "a value of the configuration, for all arms of this program");
    add_json(command, options->json);
    command.add_option("--html", options->html, "HTML page with plots")
        ->check(output_file())
        ->type_name("FILE");
    return [options] {
        if (options->cache_table) {
            options->uncached = true;
            options->workloads.default_to_cache_table();
        }
        part_programs(options->written);
        return InferenceBench(*options).run();
    };
}

}  // namespace switchyard::cli
