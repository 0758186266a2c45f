#include "core/workbench/cli/bench/inference_workloads.h"

#include <algorithm>
#include <optional>

#include "core/kernel/base/printable.h"
#include "core/workbench/cli/command.h"

namespace switchyard::cli {
namespace {

bench::LengthRange read_length(const std::string& text) {
    std::optional<bench::LengthRange> lengths;
    auto error = bench::read_lengths(text, lengths);
    if (error.empty() && lengths->min < 1) error = "'" + text + "': a sequence has one token at least";
    if (!error.empty()) throw Failure("--length: " + base::printable(error));
    return *lengths;
}

void check_positions(const compare::Workload& workload, const config::Config& config) {
    const auto needed = longest_row(workload, config), most = config.model.max_positions;
    if (needed <= most) return;
    throw Failure("--length " + workload.lengths_text() +
                  (workload.tokens > 0 ? " --tokens " + std::to_string(workload.tokens) : "") + ": " +
                  std::to_string(needed) + " tokens are more than the model's " + std::to_string(most) +
                  " positions (model.max_positions); expected at most that many together");
}

}  // namespace

std::int64_t longest_row(const compare::Workload& workload, const config::Config& config) {
    return workload.longest_row(config.task.kind == config::TaskKind::seq2seq);
}

void WorkloadOptions::default_to_cache_table() {
    if (batches.empty()) batches = {1};
    if (lengths.empty()) lengths = {"16"};
    if (tokens.empty()) tokens = {100, 500, 1000};
}

compare::Operation operation_of(const config::Config& config, const WorkloadOptions& options) {
    const auto kind = config.task.kind;
    const bool writes = kind == config::TaskKind::causal_lm || kind == config::TaskKind::seq2seq;
    const auto zeros = std::count(options.tokens.begin(), options.tokens.end(), 0);
    const bool all_zero = zeros == static_cast<std::ptrdiff_t>(options.tokens.size());
    if (!options.tokens.empty() && !writes && !all_zero)
        throw Failure("--tokens: a model of " + std::string(name(kind)) +
                      " generates nothing; expected 0, or no --tokens");
    if (zeros > 0 && !all_zero)
        throw Failure(
            "--tokens: 0 asks for forward passes and the others for generation; expected one of both");
    return writes && (options.tokens.empty() || !all_zero) ? compare::Operation::generate
                                                           : compare::Operation::forward;
}

std::vector<compare::Workload> list_workloads(const WorkloadOptions& options, const config::Config& config,
                                              compare::Operation operation) {
    const auto batches = options.batches.empty() ? std::vector<std::int64_t>{1, 8} : options.batches;
    auto lengths = options.lengths;
    if (lengths.empty()) lengths = {"128"};
    auto tokens = options.tokens;
    if (operation == compare::Operation::forward)
        tokens = {0};
    else if (tokens.empty())
        tokens = {64};
    std::vector<compare::Workload> workloads;
    for (const auto& length : lengths) {
        for (const auto count : tokens) {
            for (const auto batch : batches) {
                workloads.push_back({batch, read_length(length), count});
                check_positions(workloads.back(), config);
            }
        }
    }
    return workloads;
}

}  // namespace switchyard::cli
