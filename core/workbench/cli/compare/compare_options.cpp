#include "core/workbench/cli/compare/compare_options.h"

#include <utility>

#include "core/workbench/cli/command.h"
#include "core/workbench/cli/compare/compare_operation.h"

namespace switchyard::cli {
namespace {

constexpr std::int64_t default_samples = 1024;

}  // namespace

std::int64_t samples_of_pass(const CompareOptions& options) {
    return options.samples > 0 ? options.samples : default_samples;
}

std::int64_t eval_samples_of(const CompareOptions& options) {
    return options.eval_samples > 0 ? options.eval_samples : default_samples;
}

GeneratedPass generated_pass(const CompareOptions& options) {
    return {options.samples, options.tokens, options.lengths};
}

void check_operation(const CompareOptions& options) {
    if (options.tokens > 0 && options.arms.operation != compare::Operation::generate)
        throw Failure("--tokens says how many --operation generate writes; --operation is " +
                      options.operation);
    if (options.arms.operation == compare::Operation::step) {
        if (options.samples > 0)
            throw Failure(
                "--samples is for passes, as those of --operation epoch; batch.size says how many a step "
                "has");
        if (options.steps > 0 && options.seeds == 0 && options.loss_equivalence.empty() && !options.gate.loss)
            throw Failure(
                "--steps says how long --seeds, --loss-equivalence and --fail-on loss train; give one of "
                "them, or --steps-per-block for steps that are timed");
        if (options.eval_samples > 0 && options.seeds == 0 && options.loss_equivalence.empty() &&
            !options.gate.loss)
            throw Failure(
                "--eval-samples says how many samples are evaluated after the steps of --seeds, "
                "--loss-equivalence and --fail-on loss; give one of them");
        return;
    }
    const std::pair<const char*, bool> of_training[] = {
        {"--seeds", options.seeds > 0},
        {"--steps", options.steps > 0},
        {"--eval-samples", options.eval_samples > 0},
        {"--loss-equivalence", !options.loss_equivalence.empty()},
        {"--fail-on loss", options.gate.loss.has_value()}};
    for (const auto& [option, given] : of_training) {
        if (given)
            throw Failure(std::string(option) + " trains to the end, which --operation " + options.operation +
                          " does not; expected --operation step");
    }
}

std::string describe(const CompareOptions& options, const CheckedArms& checked) {
    const auto& config = checked.config;
    const auto& m = config.model;
    std::string text = std::string(name(m.type)) + ", " +
                       counted(static_cast<std::size_t>(m.layers), "layer") + ", hidden " +
                       std::to_string(m.hidden_size) + "; ";
    const auto operation = options.arms.operation;
    if (operation == compare::Operation::generate)
        return text + generation_text(workload_of(generated_pass(options), config), config);
    if (is_over_samples(operation))
        text += passes_text(operation, samples_of_pass(options), config.data.given());
    else
        text += counted(static_cast<std::size_t>(config.batch.size * config.train.grad_accumulation_steps),
                        "sample") +
                " a step, ";
    if (config.data.given()) return text + "the job's own data";
    return text + "random tokens, " +
           (options.lengths.empty() ? std::to_string(config.batch.max_length) : options.lengths) +
           " a sample";
}

}  // namespace switchyard::cli
