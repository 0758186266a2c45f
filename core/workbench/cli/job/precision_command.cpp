// switchyard precision CONFIG
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/cli/job/precision_text.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/train/session.h"

namespace switchyard::cli {
namespace {

struct PrecisionCommand {
    JobOptions job;
    std::int64_t steps = 3;
    bool formats = false, per_layer = false, tensors = false;
    JsonOption json;
};

struct Steps {
    std::vector<double> losses, scales;
    std::int64_t skipped = 0;
    std::uint64_t not_finite = 0;  // values, in steps that were not skipped
};

Steps run_steps(const train::Session& session, train::Trainer& trainer, std::int64_t count,
                const train::ObservedValues& seen) {
    Steps steps;
    std::uint64_t before = 0;
    for (std::int64_t step = 0; step < std::min(count, trainer.total_steps()); ++step) {
        show_progress("step " + std::to_string(step + 1) + " of " + std::to_string(count),
                      static_cast<double>(step) / static_cast<double>(count));
        steps.scales.push_back(session.plan().precision().loss_scale());
        auto batches = trainer.next_group();
        const auto report = trainer.step(batches);
        steps.losses.push_back(report.loss);
        const auto now = seen.not_finite();
        steps.skipped += report.skipped ? 1 : 0;
        steps.not_finite += report.skipped ? 0 : now - before;
        before = now;
        if (!report.skipped && !std::isfinite(report.loss)) break;  // nothing that follows says anything
    }
    show_progress("");
    return steps;
}

std::string policy_of(const train::Session& session) {
    const auto& binding = session.plan().precision().binding();
    return binding.plugin() + "/" + binding.component();
}

nlohmann::ordered_json json_of(const PrecisionCommand& command, const train::Session& session,
                               const Steps& steps, const train::ObservedValues& seen) {
    auto losses = nlohmann::ordered_json::array();
    for (const double loss : steps.losses) losses.push_back(base::number_or_null(loss));
    return {{"config", command.job.config},
            {"precision", policy_of(session)},
            {"device", std::string(name(session.config().run.device))},
            {"steps", steps.losses.size()},
            {"losses", losses},
            {"loss_scales", steps.scales},
            {"skipped_steps", steps.skipped},
            {"not_finite", seen.not_finite()},
            {"formats", formats_json()},
            {"operations", operations_json(seen.records())}};
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return text;
}

void print(const PrecisionCommand& command, const train::Session& session, const Steps& steps,
           const train::ObservedValues& seen) {
    const auto records =
        command.per_layer ? std::vector<train::OperationRecord>(seen.records().begin(), seen.records().end())
                          : train::folded(seen.records());
    std::cout << base::printable(command.job.config) << ": " << counted(steps.losses.size(), "step")
              << " with " << policy_of(session) << ", loss " << number(steps.losses.front()) << " to "
              << number(steps.losses.back());
    if (steps.skipped > 0)
        std::cout << ", " << counted(static_cast<std::size_t>(steps.skipped), "step") << " skipped";
    std::cout
        << "\n\nWhat ran: the dtype of the parameters and of the other inputs, in which the operation "
           "computed "
           "(as the\n"
           "component declares for its own kernels, else as seen in its LibTorch operators), and of its "
           "results\n\n"
        << dtypes_table(records)
        << "\nMagnitudes of the values, without zeros and values that are not finite\n\n"
        << ranges_table(records, command.tensors)
        << "\nShares of the values that each format would lose: over: too large; subn: subnormal, "
           "fewer digits;\n"
           "zero: too small, flushed\n\n"
        << fit_table(records, command.tensors) << '\n'
        << formats_table();
    const auto [low, high] = std::minmax_element(steps.scales.begin(), steps.scales.end());
    if (*high != 1.0)
        std::cout << "\nGradients are shown as computed: multiplied by the loss scale, " << number(*low)
                  << (*low == *high ? "" : " to " + number(*high)) << ". The optimizer divides by it.\n";
}

int precision(const PrecisionCommand& command) {
    if (command.formats) {
        write_json(command.json, {{"formats", formats_json()}});
        if (!command.json.on_stdout()) std::cout << formats_table();
        return Exit::fine;
    }
    if (command.job.config.empty()) throw Failure("CONFIG is required, except with --formats");
    const auto planned = plan_job(command.job);
    train::Session session(planned->config, planned->plan, *planned->registry, planned->host);
    session.load_tokenizer();
    session.load_data();
    session.load_initial_weights();
    auto trainer = session.make_trainer();
    train::ObservedValues seen;
    Steps steps;
    {
        const runtime::ObserveCalls observing(seen);
        steps = run_steps(session, trainer, command.steps, seen);
    }
    const auto& optimizer = session.optimizer().binding();
    seen.add_state(session.optimizer().state(), optimizer.plugin() + "/" + optimizer.component());
    write_json(command.json, json_of(command, session, steps, seen));
    if (!command.json.on_stdout()) print(command, session, steps, seen);
    if (steps.not_finite == 0) return Exit::fine;
    throw Failure(
        std::to_string(steps.not_finite) +
            " values are not finite in steps that were not skipped: lower optimizer.lr, or choose another "
            "precision.backend",
        Exit::numerics);
}

}  // namespace

Action setup_precision(CLI::App& command) {
    const auto options = std::make_shared<PrecisionCommand>();
    command.add_option("CONFIG", options->job.config, "TOML file; not needed with --formats")->type_name("");
    add_overrides(command, options->job,
                  "set one value, as in --set precision.backend=amp/bf16; may be repeated");
    add_number(command, "--steps", options->steps, "training steps to observe", "N", whole_number(1, 1000000))
        ->capture_default_str();
    command.add_flag("--per-layer", options->per_layer,
                     "a line for every layer and parameter, without folding equal ones");
    command.add_flag("--tensors", options->tensors, "a line for every tensor of an operation");
    command.add_flag("--formats", options->formats, "only the table of number formats; runs nothing");
    add_json(command, options->json);
    return [options] { return precision(*options); };
}

}  // namespace switchyard::cli
