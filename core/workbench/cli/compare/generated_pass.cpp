#include "core/workbench/cli/compare/generated_pass.h"

#include <algorithm>
#include <optional>

#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/cli/command.h"

namespace switchyard::cli {
namespace {

constexpr std::int64_t default_tokens = 64;

bool has_encoder(const config::Config& config) { return config.task.kind == config::TaskKind::seq2seq; }

}  // namespace

std::string generation_problem(const config::Config& config) {
    const auto kind = config.task.kind;
    if (kind == config::TaskKind::causal_lm || kind == config::TaskKind::seq2seq) return "";
    return "--operation generate: a model of " + std::string(name(kind)) +
           " generates nothing; expected task.kind = \"causal_lm\" or \"seq2seq\"";
}

compare::Workload workload_of(const GeneratedPass& pass, const config::Config& config) {
    const auto most = config.batch.max_length;
    compare::Workload workload;
    workload.batch = pass.samples > 0 ? pass.samples : config.batch.size;
    workload.tokens =
        pass.tokens > 0 ? pass.tokens : std::min(default_tokens, std::max<std::int64_t>(1, most / 2));
    // Where there is an encoder, it has the prompt alone, and the decoder what is written.
    const auto room = has_encoder(config) ? most : most - workload.tokens;
    if (room < 1 || workload.tokens > most)
        throw Failure("--tokens " + std::to_string(workload.tokens) +
                      ": a row has at most batch.max_length = " + std::to_string(most) + " tokens" +
                      (has_encoder(config) ? "" : ", one of the prompt among them") +
                      "; expected fewer, or a larger batch.max_length");
    workload.lengths = {room, room, 0};
    if (pass.lengths.empty()) return workload;
    std::optional<bench::LengthRange> lengths;
    auto error = bench::read_lengths(pass.lengths, lengths);
    if (error.empty() && lengths->min < 1) error = "'" + pass.lengths + "': a prompt has one token at least";
    if (error.empty() && lengths->max > room)
        error = "'" + pass.lengths + "': with " + std::to_string(workload.tokens) +
                " new tokens a prompt has at most " + std::to_string(room) + ", for batch.max_length is " +
                std::to_string(most);
    if (!error.empty()) throw Failure("--lengths: " + base::printable(error));
    workload.lengths = *lengths;
    return workload;
}

std::string generation_text(const compare::Workload& workload, const config::Config& config) {
    const auto tokens = static_cast<std::size_t>(workload.tokens),
               rows = static_cast<std::size_t>(workload.batch);
    const auto lengths = workload.lengths_text();
    return "generation, " + base::counted(tokens, "token") + " after " + (rows > 1 ? "each of " : "") +
           base::counted(rows, "prompt") + " a pass, " +
           (config.data.given() ? "the job's own data, at most " + lengths + " tokens a prompt"
                                : "random tokens, " + lengths + " a prompt");
}

}  // namespace switchyard::cli
