// switchyard compare: whole training runs against each other, each in a process of its own.
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>

#include "core/workbench/cli/compare/compare_command.h"
#include "core/workbench/cli/compare/compare_operation.h"
#include "core/workbench/cli/compare/compare_options.h"
#include "core/workbench/cli/compare/compare_run.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

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
    options.ladder->leave_out(options.arms.job.overrides);
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
               "number of blocks, however long they take; default: as many as fit, 9 to 500", "N",
               whole_number(1, 10000));
    add_number(command, "--rounds", options.rounds,
               "how often each arm is started anew, the blocks divided among the starts; default: as time "
               "allows, 5 to 20, or 1",
               "N", whole_number(1, 1000));
    add_number(command, "--steps-per-block", options.steps_per_block,
               "steps of an arm in a block; default: as many as last 0.1 s, or more where --time "
               "holds more than 500 blocks",
               "N", whole_number(1, 10000));
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
               "train each arm to the end with this many seeds, compare final losses and evaluate", "K",
               whole_number(1, 1000));
    add_number(command, "--steps", options->steps, "steps to train with each seed; default: train.steps", "N",
               whole_number(1, 100000000));
    add_number(command, "--eval-samples", options->eval_samples,
               "held-out samples that each arm evaluates at most after the last step of a seed; default: " +
                   std::to_string(eval_samples_of({})),
               "N", whole_number(1, 100000000));
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
        return run_comparison(*options);
    };
}

}  // namespace switchyard::cli
