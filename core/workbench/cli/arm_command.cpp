// switchyard-run arm: one arm of `switchyard compare`, which answers requests on its standard streams as
// docs/compare.md says. Not for people.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "core/kernel/base/json_text.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/next_line.h"
#include "core/workbench/cli/answer_pipe.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/compare_command.h"
#include "core/workbench/cli/planned_job.h"
#include "core/workbench/compare/arms/arm_server.h"

namespace switchyard::cli {
namespace {

using base::Json;

// What is planned, and what is made of it: the second refers to the first.
struct Prepared {
    std::unique_ptr<PlannedJob> job;
    std::unique_ptr<compare::ArmServer> arm;
    bool generates = false;
};

Prepared prepare(const Json& message) {
    Prepared prepared;
    JobOptions options;
    options.config = base::needed_text(message, "config");
    for (const auto& one : base::needed_list(message, "overrides"))
        options.overrides.push_back(base::shown(one));
    options.trust = message.contains("trust") && base::needed_flag(message, "trust");
    options.of_run = message.contains("of_run") && base::needed_flag(message, "of_run");
    compare::ArmServerOptions arm;
    const auto operation = parse<compare::Operation>(base::needed_text(message, "operation"));
    if (!operation) throw Failure("\"operation\" is " + base::text_of(message, "operation"));
    arm.operation = *operation;
    prepared.generates = arm.operation == compare::Operation::generate;
    arm.samples = base::needed_integer(message, "samples");
    arm.first_step_file = base::needed_text(message, "first_step_file");
    arm.export_folder = base::text_of(message, "export_folder");
    arm.cycle = message.contains("cycle") ? base::needed_integer(message, "cycle") : 0;
    arm.amplification = message.contains("amplification") && base::needed_flag(message, "amplification");
    if (const auto lengths = base::text_of(message, "lengths"); !lengths.empty()) {
        if (const auto error = bench::read_lengths(lengths, arm.lengths); !error.empty())
            throw Failure(error);
    }
    if (message.contains("workloads")) {
        for (const auto& one : base::needed_list(message, "workloads"))
            arm.workloads.push_back(compare::read_workload(one));
        arm.cached = base::needed_flag(message, "cached");
    }
    const auto purpose = !arm.inference()                   ? Purpose::as_configured
                         : prepared.generates && arm.cached ? Purpose::generation
                                                            : Purpose::inference;
    prepared.job = plan_job(options, {.purpose = purpose, .restart = Restart::refused});
    auto& job = *prepared.job;
    prepared.arm = compare::make_arm_server(job.config, job.plan, *job.registry, job.host, arm);
    return prepared;
}

Json answer(const Json& message, Prepared& prepared) {
    const auto type = base::needed_text(message, "type");
    if (type == "prepare") {
        prepared = {};  // the memory of the one before
        prepared = prepare(message);
        return compare::to_message(prepared.arm->prepare());
    }
    if (type != "run" || !prepared.arm) throw Failure("expected prepare, then run; got " + type);
    const auto steps = base::needed_integer(message, "steps");
    prepared.arm->choose(message.contains("workload")
                             ? static_cast<std::size_t>(base::needed_integer(message, "workload"))
                             : 0);
    if (prepared.generates) return compare::to_message(prepared.arm->generate(steps));
    return compare::to_message(prepared.arm->run(steps));
}

int serve() {
    const AnswerPipe answers;
    if (!answers) return Exit::run_failed;
    Prepared prepared;
    std::string line;
    for (base::Line read;
         (read = base::next_line(*std::cin.rdbuf(), line, base::limits::json_bytes)) != base::Line::none;) {
        try {
            if (read == base::Line::too_long)
                throw Failure("standard input: the line is longer than " +
                              std::to_string(base::limits::json_bytes) + " bytes, the most that is read");
            const auto message = base::parse_object(line, "standard input");
            if (base::text_of(message, "type") == "quit") break;
            answers.say(answer(message, prepared));
        } catch (const std::exception& error) {
            answers.say({{"type", "error"}, {"text", error.what()}});
        }
    }
    return Exit::fine;
}

}  // namespace

Command arm_command() {
    return {"arm",
            "one arm of a comparison",
            {"switchyard compare configs/demo.toml --vary attention.backend=naive,torch"},
            [](CLI::App&) -> Action { return serve; }};
}

}  // namespace switchyard::cli
