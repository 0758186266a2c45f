// switchyard compare: whole training runs against each other, each in a process of its own.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <variant>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/number_text.h"
#include "core/kernel/config/show.h"
#include "core/kernel/machine/host_info.h"
#include "core/workbench/bench/bench_report.h"
#include "core/workbench/bench/bench_settings.h"
#include "core/workbench/bench/measure/text_table.h"
#include "core/workbench/cli/compare/compare_arms.h"
#include "core/workbench/cli/compare/compare_command.h"
#include "core/workbench/cli/compare/compare_messages.h"
#include "core/workbench/cli/compare/compare_operation.h"
#include "core/workbench/cli/compare/compare_options.h"
#include "core/workbench/cli/compare/own_batches.h"
#include "core/workbench/cli/compare/started_arms.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/cli/temporary_folder.h"
#include "core/workbench/cli/train/profile_facts.h"
#include "core/workbench/compare/experiment/arm_keys.h"
#include "core/workbench/compare/experiment/baseline.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/experiment/experiment.h"
#include "core/workbench/compare/gate/gate_report.h"
#include "core/workbench/compare/ladder/ladder_report.h"
#include "core/workbench/compare/page/comparison_page.h"
#include "core/workbench/report/record_parts.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

class CompareRun {
public:
    explicit CompareRun(const CompareOptions& options)
        : options_(options),
          host_(machine::this_host(machine::Look::with_devices)),
          checked_(check_arms(options.arms, host_)),
          guard_(folder_.path()) {
        refuse_lengths_of_data(checked_.config, options.lengths);
    }

    int run() {
        if (options_.ladder && checked_.arms.empty()) return nothing_runs();
        if (options_.dry_run) return tell_plan();
        stop_.note();  // what is timed by then is shown
        compare::ExperimentSettings settings = read_settings();
        const auto baseline = read_baseline();
        auto comparison = compare::run_experiment(
            start_arms(checked_.arms, guard_, [this] { return static_cast<bool>(stop_); }), settings);
        const int stopped = stop_.exit_code();
        stop_.end_at_once();
        show_progress("");
        if (baseline) compare::add_baseline(comparison, *baseline, options_.baseline, settings.margin);
        measure_roofs(comparison);
        const auto gate = gate_of(comparison);
        write_json(options_.json, report_json(comparison, gate));
        write_tables(comparison);
        write_gate(comparison, gate);
        if (!options_.html.empty()) write_file(options_.html, page(comparison));
        if (!options_.json.on_stdout() && !options_.lines.on_stdout())
            std::cout << bench::wrap(title(), 100, "  ") << "\n"
                      << ladder_report(comparison) << compare::to_text(comparison)
                      << (options_.gate.any() ? compare::gate_text(gate) : "");
        if (comparison.stopped) return stopped;
        if (!options_.fastest.empty()) write_fastest(comparison);
        return exit_code(comparison, gate);
    }

private:
    // What would run, and for how long. Nothing is started.
    int tell_plan() {
        const auto settings = read_settings();
        (void)read_baseline();
        std::cout << bench::wrap(title(), 100, "  ") << "\n";
        if (options_.ladder) std::cout << compare::ladder_plan_text(*options_.ladder, checked_.places);
        for (std::size_t at = 0; !options_.ladder && at < checked_.arms.size(); ++at) {
            const auto& arm = checked_.arms[at];
            std::cout << "\n"
                      << arm.name << (at == 0 && options_.baseline.empty() ? " (base)" : "") << "\n  "
                      << bench::wrap(joined(arm.overrides, " "), 96, "  ")
                      << (arm.overrides.empty() ? "" : "\n  ") << bench::wrap(checked_.chosen[at], 96, "  ")
                      << "\n";
        }
        const auto arms = counted(checked_.arms.size(), "arm");
        std::string text = "warm-up, rounds and blocks of " + arms + ": about " +
                           base::digits(options_.seconds, 2) + " s (--time)";
        if (settings.blocks > 0)
            text = arms + ": warm-up of a fifth of --time at most, then " +
                   counted(settings.blocks, "block") + ", however long they take";
        text += std::string("; before that each prepares once: its data, its first ") +
                (compare::trains(options_.arms.operation) ? "step" : "samples");
        if (settings.seeds > 0)
            text += "; after that " +
                    std::to_string(checked_.arms.size() * static_cast<std::size_t>(settings.seeds)) +
                    " trainings of " + std::to_string(settings.loss_steps) + " steps for the final losses";
        std::cout << "\n" << bench::wrap(text, 100, "") << "\n";
        return Exit::fine;
    }

    int nothing_runs() const {
        std::cout << bench::wrap(options_.ladder->heading(options_.scale), 110, "  ") << "\n"
                  << compare::ladder_plan_text(*options_.ladder, checked_.places);
        if (options_.dry_run) return Exit::fine;
        throw Failure("--ladder " + options_.ladder_file + ": no rung can run on this machine",
                      Exit::run_failed);
    }

    std::string ladder_report(const compare::Comparison& comparison) const {
        if (!options_.ladder) return "";
        const auto rows = compare::ladder_rows(*options_.ladder, checked_.places, comparison);
        return compare::ladder_text(*options_.ladder, options_.scale, rows) + "\n";
    }

    // Of a rung that did not run nothing can be told.
    compare::GateResult gate_of(const compare::Comparison& comparison) const {
        auto gate = compare::pass_gate(comparison, options_.gate);
        if (!options_.ladder || !options_.gate.any()) return gate;
        for (std::size_t at = 0; at < checked_.places.size(); ++at) {
            const auto& place = checked_.places[at];
            if (!place.arm)
                gate.findings.push_back({options_.ladder->rungs[at].name, "ran",
                                         compare::GateOutcome::cannot_tell,
                                         "unavailable: " + place.unavailable});
        }
        return gate;
    }

    int exit_code(const compare::Comparison& comparison, const compare::GateResult& gate) const {
        return options_.gate.any() && !comparison.stopped ? gate.exit_code() : comparison.exit_code();
    }

    // Looked at before anything runs.
    std::optional<compare::RecordedComparison> read_baseline() const {
        if (options_.baseline.empty()) return std::nullopt;
        if (!options_.loss_equivalence.empty() || options_.gate.loss)
            throw Failure(
                "--baseline: of what was measured before there are no final losses to compare; expected no "
                "--loss-equivalence and no --fail-on loss");
        if (options_.gate.drift)
            throw Failure(
                "--baseline: of what was measured before nobody has the first step; expected no --fail-on "
                "drift");
        auto read = compare::read_comparison(options_.baseline);
        compare::RecordedComparison now;
        now.comparison.operation = options_.arms.operation;
        now.title = describe(options_, checked_);
        now.host = compare::host_text(bench::to_json(host_));
        now.shared_values = compare::shared_values(checked_.config, options_.arms.operation);
        const auto unlike = compare::unlike_baseline(
            read, now, compare::shared_values(config::Config(), options_.arms.operation));
        if (!unlike.empty()) throw Failure("--baseline " + options_.baseline + ": " + unlike);
        return read;
    }

    // Where arms told what a step computes, and somebody will see it below what the machine can do.
    void measure_roofs(compare::Comparison& comparison) const {
        if (options_.html.empty() && options_.json.path.empty()) return;
        std::set<DType> dtypes;
        for (const auto& arm : comparison.arms) {
            if (const auto dtype = parse<DType>(arm.dtype); arm.observed && dtype) dtypes.insert(*dtype);
        }
        if (!dtypes.empty() && !comparison.stopped)
            sample_roofs(checked_.config, host_, dtypes, comparison.roofs);
    }

    void write_tables(const compare::Comparison& comparison) const {
        if (!options_.csv.empty()) write_file(options_.csv, compare::to_csv(comparison));
        JsonLines lines(options_.lines);
        for (const auto& line : compare::block_lines(comparison)) lines.add(line);
        lines.finish();
    }

    void write_gate(const compare::Comparison& comparison, const compare::GateResult& gate) const {
        if (!options_.junit.empty())
            write_file(options_.junit, compare::junit_xml(gate, comparison.elapsed_ms / 1e3));
        if (!options_.markdown.empty())
            write_file(options_.markdown,
                       compare::markdown(comparison, options_.gate.any() ? gate : compare::GateResult{},
                                         describe(options_, checked_), command_line()));
        const char* const actions = std::getenv("GITHUB_ACTIONS");
        if (options_.gate.any() && actions != nullptr && std::string(actions) == "true")
            std::cerr << compare::github_annotations(gate);
    }

    std::string title() const {
        if (checked_.arms.size() == 1)
            return checked_.arms.front().name + ": " + describe(options_, checked_);
        return checked_.arms.front().name +
               (checked_.arms.size() == 2 ? " and " + checked_.arms[1].name
                                          : " and " + counted(checked_.arms.size() - 1, "other")) +
               ": " + describe(options_, checked_);
    }

    compare::ExperimentSettings read_settings() {
        compare::ExperimentSettings settings;
        settings.operation = options_.arms.operation;
        settings.blocks = options_.blocks;
        settings.rounds = options_.rounds;
        settings.observes = true;
        if (options_.blocks > 0 && options_.rounds > options_.blocks)
            throw Failure("--rounds " + std::to_string(options_.rounds) +
                          ": a round has a block at least; --blocks is " + std::to_string(options_.blocks));
        settings.steps_per_block = options_.steps_per_block;
        settings.time_ms = options_.seconds * 1e3;
        settings.timeout_ms = options_.timeout * 1e3;
        settings.seed = options_.order;
        settings.reference_arm = checked_.reference_arm;
        settings.seeds = options_.seeds;
        if (!options_.loss_equivalence.empty()) {
            settings.loss_margin.emplace();
            if (const auto error = bench::read_margin(options_.loss_equivalence, *settings.loss_margin);
                !error.empty())
                throw Failure("--loss-equivalence: " + error);
            if (settings.seeds == 0) settings.seeds = 5;
        }
        if (options_.gate.loss && settings.loss_margin && *settings.loss_margin != *options_.gate.loss)
            throw Failure("--fail-on loss: its margin is " + bench::to_string(*options_.gate.loss) +
                          ", that of --loss-equivalence " + bench::to_string(*settings.loss_margin));
        if (options_.gate.loss) settings.loss_margin = options_.gate.loss;
        if (options_.gate.loss && settings.seeds == 0) settings.seeds = 5;
        if (settings.seeds == 1) throw Failure("--seeds: an interval needs two seeds at least");
        settings.loss_steps = options_.steps > 0 ? options_.steps : checked_.config.train.steps;
        if (settings.seeds > 0 && settings.loss_steps == 0)
            throw Failure(
                "--seeds: the configuration has no train.steps; --steps N says how many steps to train");
        MessageOptions message{
            options_.arms.job, folder_.path(),      settings.operation, samples_of_pass(options_),
            options_.lengths,  settings.loss_steps, settings.seeds};
        if (settings.operation == compare::Operation::generate) {
            message.workload = workload_of(generated_pass(options_), checked_.config);
            message.samples = message.workload->batch;
            settings.generation = {0, message.workload->batch, message.workload->tokens,
                                   checked_.config.model.vocab_size};
        }
        messages_ = std::make_unique<ArmMessages>(checked_, std::move(message));
        settings.prepare = [this](const compare::Preparation& what) { return messages_->prepare(what); };
        settings.start = [this](std::size_t arm, std::string& error) {
            return start_arm(
                checked_.arms[arm], guard_, [this] { return static_cast<bool>(stop_); }, error);
        };
        settings.supply = [this, timeout = settings.timeout_ms](const compare::Preparation& what) {
            return write_own_batches(what, checked_, *messages_, options_.arms.operation, timeout, guard_,
                                     [this] { return static_cast<bool>(stop_); });
        };
        settings.written_steps = [this](const compare::Preparation& what) {
            return messages_->written_steps(what);
        };
        settings.drift = [this](std::size_t arm, std::size_t base) { return messages_->drift(arm, base); };
        settings.stop = [this] { return static_cast<bool>(stop_); };
        settings.progress = [](const compare::ExperimentProgress& at) {
            show_progress(at.text, at.share, at.seconds_left);
        };
        return settings;
    }

    nlohmann::ordered_json report_json(const compare::Comparison& comparison,
                                       const compare::GateResult& gate) const {
        auto json = compare::to_json(comparison);
        json["exit_code"] = exit_code(comparison, gate);
        json["gate"] = options_.gate.any() ? compare::to_json(gate) : nullptr;
        json["ladder"] = nullptr;
        if (options_.ladder)
            json["ladder"] =
                compare::ladder_json(*options_.ladder, options_.scale,
                                     compare::ladder_rows(*options_.ladder, checked_.places, comparison));
        json["title"] = describe(options_, checked_);
        json["config"] = options_.arms.job.config;
        json["config_fingerprint"] = config::fingerprint(checked_.config);
        json["shared_values"] = compare::shared_values(checked_.config, options_.arms.operation);
        json["host"] = bench::to_json(host_);
        json["command"] = command_line();
        return json;
    }

    std::string page(const compare::Comparison& comparison) const {
        compare::ComparisonFacts facts{describe(options_, checked_), options_.arms.job.config,
                                       config::fingerprint(checked_.config), command_line(),
                                       report::host_facts(bench::to_json(host_))};
        if (options_.ladder)
            facts.first_section =
                compare::ladder_section(*options_.ladder, options_.scale,
                                        compare::ladder_rows(*options_.ladder, checked_.places, comparison));
        return compare::comparison_page(comparison, facts);
    }

    // The values for --set that give the fastest arm of this program in one process.
    void write_fastest(const compare::Comparison& comparison) const {
        const compare::ArmResult* best = nullptr;
        for (std::size_t at = 0; at < comparison.arms.size(); ++at) {
            const auto& arm = comparison.arms[at];
            bool wrong = false;
            for (const auto& pair : comparison.pairs)
                wrong = wrong || (pair.arm == at && pair.verdict == bench::SpeedVerdict::wrong);
            const bool by_set = !arm.spec.external() && arm.spec.ranks == 1 && arm.spec.slowed == 0.0;
            if (!arm.ok() || !by_set || !arm.measured_before.empty() || wrong ||
                !std::isfinite(arm.samples_per_second))
                continue;
            if (best == nullptr || arm.samples_per_second > best->samples_per_second) best = &arm;
        }
        if (best == nullptr)
            throw Failure("--fastest: no arm that --set can give could be timed, so " + options_.fastest +
                              " was not written",
                          Exit::run_failed);
        write_lines(options_.fastest, compare::without_arm_keys(best->spec.overrides));
    }

    const CompareOptions& options_;
    train::StopSignal stop_;
    HostInfo host_;
    CheckedArms checked_;
    TemporaryFolder folder_;
    compare::ArmGuard guard_;
    std::unique_ptr<ArmMessages> messages_;
};

void add_arm_options(CLI::App& command, CompareOptions& options) {
    const auto repeated = [&](const char* flag, std::vector<std::string>& value, const std::string& help) {
        return command.add_option(flag, value, help)->expected(1)->allow_extra_args(false)->take_all();
    };
    auto& written = options.arms.written;
    repeated("--vary", written.vary, "an arm for each value; repeated: for each combination")
        ->type_name("KEY=A,B");
    command
        .add_option("--stacks", written.stacks,
                    "an arm for each stack of backends: torch; torch+precision=torch/bf16; attention=flash")
        ->delimiter(',')
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all()
        ->type_name("A,B");
    repeated("--arm", written.arms, "an arm with several values, as \"half: precision.backend=torch/bf16\"")
        ->type_name("NAME: KEY=VALUE");
    command.add_flag("--one-at-a-time", written.one_at_a_time,
                     "of several --vary: the first values, and each other one alone on top of them");
    command.add_flag("--yes", options.yes, "compare more than 64 arms");
    command.add_flag("--dry-run", options.dry_run,
                     "show every arm, what it would run and how long that takes");
    command.add_flag("--force", options.arms.force,
                     "compare arms of different models, data or seeds too; the output says so");
}

// The ladder's rungs as the arms of this comparison.
void read_ladder(CompareOptions& options) {
    if (options.ladder_file.empty()) {
        if (!options.scale.empty()) throw Failure("--scale: is for --ladder, whose file has it");
        if (options.arms.job.config.empty()) throw Failure("CONFIG is missing, or --ladder FILE");
        return;
    }
    const auto& written = options.arms.written;
    if (!options.arms.job.config.empty())
        throw Failure("--ladder: its file names the configuration; CONFIG is another");
    if (!written.vary.empty() || !written.stacks.empty() || !written.arms.empty() ||
        !options.baseline.empty())
        throw Failure(
            "--ladder: its rungs are the arms; --vary, --stacks, --arm and --baseline are for others");
    auto read = compare::read_ladder(options.ladder_file);
    if (const auto* const problems = std::get_if<std::string>(&read)) throw Failure(*problems);
    options.ladder = std::get<compare::Ladder>(std::move(read));
    const compare::LadderScale* scale = nullptr;
    if (!options.scale.empty()) {
        const auto found = options.ladder->scales.find(options.scale);
        std::vector<std::string> known;
        for (const auto& [name, ignored] : options.ladder->scales) known.push_back(name);
        if (found == options.ladder->scales.end())
            throw Failure("--scale " + options.scale + ": the ladder has " +
                          (known.empty() ? "no scales" : "only " + joined(known)));
        scale = &found->second;
    }
    options.arms.rungs = compare::ladder_arms(*options.ladder, scale);
    options.arms.rungs_from = options.ladder_file;
    options.arms.job.config = options.ladder->config_file();
}

void add_ladder_options(CLI::App& command, CompareOptions& options) {
    command.get_option("CONFIG")->required(false);
    command
        .add_option(
            "--ladder", options.ladder_file,
            "compare the rungs of this file, named changes that stand on one another, instead of CONFIG")
        ->type_name("FILE");
    command.add_option("--scale", options.scale, "at a size that the ladder's file defines, as small")
        ->type_name("NAME");
}

void add_timing_options(CLI::App& command, CompareOptions& options) {
    add_number(command, "--time", options.seconds, "time for warm-up and blocks of all arms, roughly",
               "SECONDS", number(1e-3, 1e9))
        ->capture_default_str();
    add_number(command, "--blocks", options.blocks,
               "number of blocks, however long they take; default: as many as fit, 9 to 60", "N",
               whole_number(1, 10000));
    add_number(command, "--rounds", options.rounds,
               "how often each arm is started anew, the blocks divided among the starts; default: as time "
               "allows, 5 to "
               "10, or 1",
               "N", whole_number(1, 1000));
    add_number(command, "--steps-per-block", options.steps_per_block,
               "steps of an arm in a block; default: as many as last 0.1 s", "N", whole_number(1, 10000));
    add_number(command, "--timeout", options.timeout, "longest time for an arm to prepare, and for a block",
               "SECONDS", number(1e-3, 1e9))
        ->capture_default_str();
    add_number(command, "--order-seed", options.order, "seed of the order within blocks and of the intervals",
               "N", whole_number(0))
        ->capture_default_str();
    command
        .add_option("--lengths", options.lengths,
                    "lengths of the random samples, or prompts, where the job has no data, as 8-64")
        ->type_name("MIN-MAX");
}

void add_output_options(CLI::App& command, CompareOptions& options) {
    add_json(command, options.json);
    const auto file = [&](const char* flag, std::string& path, const char* help) {
        command.add_option(flag, path, help)->check(output_file())->type_name("FILE");
    };
    add_json_lines(command, options.lines)
        ->description("write each measured block of each arm as a line of JSON; - is the standard output");
    file("--csv", options.csv, "write a row for each arm, numbers in full");
    file("--html", options.html, "HTML page with plots");
    file("--markdown", options.markdown, "a summary, for the comment of a pull request");
    file("--junit", options.junit, "what --fail-on found, as JUnit's XML");
    file("--fastest", options.fastest, "write the values for --set that give the fastest arm");
}

}  // namespace

Action setup_compare(CLI::App& command) {
    const auto options = std::make_shared<CompareOptions>();
    add_job_options(command, options->arms.job);
    add_locked(command, options->arms.job);
    add_arm_options(command, *options);
    add_timing_options(command, *options);
    add_ladder_options(command, *options);
    const auto* const operation =
        command
            .add_option(
                "--operation", options->operation,
                "step: training steps; or passes over the same samples in batches of each arm's own: epoch: "
                "of "
                "training; forward: without gradients; data: of the data loader alone; generate: new tokens "
                "after "
                "them")
            ->check(operation_problem)
            ->type_name("NAME")
            ->capture_default_str();
    add_number(command, "--samples", options->samples,
               "samples of a pass, drawn from the job's; default: " + std::to_string(samples_of_pass({})) +
                   ", prompts to generate after: batch.size",
               "N", whole_number(1, 100000000));
    add_number(
        command, "--tokens", options->tokens,
        "new tokens after each prompt of --operation generate; default: 64, or half of batch.max_length", "N",
        whole_number(1, 1000000));
    add_number(command, "--seeds", options->seeds,
               "train each arm to the end with this many seeds and compare final losses", "K",
               whole_number(1, 1000));
    add_number(command, "--steps", options->steps, "steps to train with each seed; default: train.steps", "N",
               whole_number(1, 100000000));
    command
        .add_option("--loss-equivalence", options->loss_equivalence,
                    "losses closer than this are equivalent: 0.02 in the unit of the loss, or 2%")
        ->type_name("MARGIN");
    add_output_options(command, *options);
    command
        .add_option("--fail-on", options->fail_on,
                    "end with 3 where an arm became worse, 4 where that cannot be told, 5 where it computes "
                    "something "
                    "else; of slower:SHARE, memory:SHARE, drift, loss:MARGIN")
        ->type_name("slower:3%,...");
    command
        .add_option("--baseline", options->baseline,
                    "compare with the base of an earlier --json file, which takes no turns with the arms")
        ->type_name("FILE");
    return [options, operation] {
        if (options->json.on_stdout() && options->lines.on_stdout())
            throw Failure(
                "--json - and --jsonl -: the standard output takes one of them; give the other a file");
        if (!options->fail_on.empty()) {
            if (const auto wrong = compare::read_gate_rules(options->fail_on, options->gate); !wrong.empty())
                throw Failure("--fail-on: " + wrong);
        }
        if (!options->junit.empty() && !options->gate.any())
            throw Failure("--junit: says what --fail-on found; there is no --fail-on");
        if (!options->baseline.empty()) options->arms.least = 1;
        options->arms.most = options->yes ? 0 : 64;
        read_ladder(*options);
        if (options->ladder && options->ladder->operation && operation->count() == 0)
            options->operation = name(*options->ladder->operation);
        options->arms.operation = *parse<compare::Operation>(options->operation);
        check_operation(*options);
        if (options->arms.operation == compare::Operation::generate) {
            options->arms.purpose = Purpose::generation;
            options->arms.reads_data = true;
            options->arms.job.implied.push_back({"--operation", "batch.min_length=1"});
        }
        return CompareRun(*options).run();
    };
}

}  // namespace switchyard::cli
