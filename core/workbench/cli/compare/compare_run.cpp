// One comparison from what was asked for to what is written of it.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "core/kernel/base/number_text.h"
#include "core/kernel/config/show.h"
#include "core/kernel/machine/host_info.h"
#include "core/workbench/bench/bench_report.h"
#include "core/workbench/bench/bench_settings.h"
#include "core/workbench/bench/measure/text_table.h"
#include "core/workbench/cli/compare/compare_arms.h"
#include "core/workbench/cli/compare/compare_messages.h"
#include "core/workbench/cli/compare/compare_operation.h"
#include "core/workbench/cli/compare/compare_options.h"
#include "core/workbench/cli/compare/compare_run.h"
#include "core/workbench/cli/compare/own_batches.h"
#include "core/workbench/cli/compare/started_arms.h"
#include "core/workbench/cli/error_text.h"
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
                    " trainings of " + std::to_string(settings.loss_steps) +
                    " steps for the final losses, each with an evaluation of " +
                    std::to_string(settings.eval_samples) + " held-out samples at most";
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

    // Where arms told what a step computes, and the page draws it below what the machine can do. That takes
    // memory, which the machine may not have: then the rest is written without it.
    void measure_roofs(compare::Comparison& comparison) const {
        if (options_.html.empty()) return;
        std::set<DType> dtypes;
        for (const auto& arm : comparison.arms) {
            if (const auto dtype = parse<DType>(arm.dtype); arm.observed && dtype) dtypes.insert(*dtype);
        }
        if (dtypes.empty() || comparison.stopped) return;
        try {
            sample_roofs(checked_.config, host_, dtypes, comparison.roofs);
        } catch (const std::exception& error) {
            comparison.roofs = {};
            std::cerr << "warning: no roofline is drawn, since the machine could not be measured: " +
                             without_frames(error.what()) + "\n";
        }
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
        if (settings.seeds > 0) settings.eval_samples = eval_samples_of(options_);
        settings.eval_metric = compare::eval_metric(checked_.config);
        MessageOptions message{
            options_.arms.job, folder_.path(),      settings.operation, samples_of_pass(options_),
            options_.lengths,  settings.loss_steps, settings.seeds};
        message.eval_samples = settings.eval_samples;
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
        settings.planned = [this](int blocks, double seconds) {
            if (options_.blocks > 0 || seconds < 1.25 * options_.seconds) return;
            show_progress("");
            std::cerr << "note: " << blocks << " blocks are the fewest to judge by, and take about "
                      << base::digits(seconds, 2) << " s with the warm-up, not the "
                      << base::digits(options_.seconds, 2)
                      << " s of --time; smaller batches, fewer arms or --blocks take less\n";
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

}  // namespace

int run_comparison(const CompareOptions& options) { return CompareRun(options).run(); }

}  // namespace switchyard::cli
