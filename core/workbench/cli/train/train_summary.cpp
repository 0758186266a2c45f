#include "core/workbench/cli/train/train_summary.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/kernel/base/json_text.h"
#include "core/kernel/machine/cpu_allocator.h"
#include "core/workbench/bench/measure/statistics.h"
#include "core/workbench/cli/infer/evaluation_json.h"
#include "core/workbench/cli/train/shadow_text.h"
#include "core/workbench/compare/arms/executed_json.h"

namespace switchyard::cli {
namespace {

using nlohmann::ordered_json;

ordered_json sources_json(const std::vector<data::SourceCounts>& sources) {
    ordered_json list = ordered_json::array();
    for (const auto& source : sources)
        list.push_back({{"name", source.name},
                        {"weight", source.weight},
                        {"rows", rows_json(source.rows)},
                        {"samples", source.samples},
                        {"drawn", source.drawn}});
    return list;
}

ordered_json rewinds_json(const std::vector<train::Rewind>& rewinds) {
    ordered_json list = ordered_json::array();
    for (const auto& rewind : rewinds)
        list.push_back({{"from", rewind.from}, {"to", rewind.to}, {"what", rewind.what}});
    return list;
}

const char* status_of(train::Outcome outcome) {
    switch (outcome) {
        case train::Outcome::finished:
            return "finished";
        case train::Outcome::stopped:
            return "stopped";
        default:
            return "failed";
    }
}

// The mean of the last tenth: a single step's loss says little. null: this process made no step.
ordered_json last_loss(const std::vector<train::StepReport>& steps) {
    const auto count = std::max<std::size_t>(1, steps.size() / 10);
    double sum = 0.0;
    int taken = 0;
    for (std::size_t i = steps.size() - std::min(count, steps.size()); i < steps.size(); ++i) {
        if (!std::isfinite(steps[i].loss)) continue;
        sum += steps[i].loss;
        ++taken;
    }
    if (taken == 0) return nullptr;
    return sum / taken;
}

}  // namespace

TrainingMemory training_memory(train::Session& session, const train::Trainer& trainer) {
    const auto state = trainer.state();
    TrainingMemory memory;
    memory.peak = machine::cpu_memory_stats().peak_bytes;
    memory.parameters = session.parameters().bytes();
    // One value of the parameter's dtype for each that is trained, freed after every step.
    for (const auto& parameter : session.parameters().all()) {
        if (parameter.value.requires_grad())
            memory.gradients += static_cast<std::int64_t>(parameter.value.nbytes());
    }
    if (const auto kept = trainer.kept()) {
        memory.parameters = kept->parameters;
        memory.gradients = kept->gradients;
    }
    for (const auto& entry : state.optimizer.entries)
        memory.optimizer += static_cast<std::int64_t>(entry.value.nbytes());
    for (const auto& [name, master] : state.masters)
        memory.masters += static_cast<std::int64_t>(master.nbytes());
    return memory;
}

namespace {

ordered_json loader_json(const runtime::LoaderStats& stats) {
    ordered_json json{{"batches", stats.batches},
                      {"padding_share", stats.padding_share()},
                      {"tokens_per_batch", stats.tokens_per_batch()},
                      {"wait_seconds", stats.wait_seconds},
                      {"ready_batches", nullptr}};
    if (const auto ready = stats.ready_per_batch()) json["ready_batches"] = *ready;
    return json;
}

ordered_json communication_json(const distributed::Communication& communication) {
    const double a_step = 1000.0 / static_cast<double>(communication.steps);
    ordered_json sums = ordered_json::array();
    for (const auto& sum : communication.typical.sums)
        sums.push_back({{"bytes", sum.bytes},
                        {"begin_ms", 1000.0 * sum.begin_seconds},
                        {"end_ms", 1000.0 * sum.end_seconds}});
    return {{"steps", communication.steps},
            {"ms_a_step", a_step * communication.seconds},
            {"backward_ms_a_step", a_step * communication.backward_seconds},
            {"hidden", communication.hidden_share()},
            {"typical_step",
             {{"backward_ms", 1000.0 * communication.typical.backward_seconds}, {"sums", std::move(sums)}}}};
}

}  // namespace

ordered_json train_summary(const train::Session& session, const train::TrainingResult& result,
                           const TrainingMemory& memory, const train::Utilization& utilization,
                           double wall_seconds) {
    std::vector<double> times;
    double milliseconds = 0.0;
    std::int64_t samples = 0, tokens = 0;
    model::Work work;
    for (const auto& step : result.steps) {
        times.push_back(step.milliseconds);
        milliseconds += step.milliseconds;
        samples += step.samples;
        tokens += step.tokens;
        work += step.work;
    }
    const double seconds = std::max(milliseconds, 1e-9) / 1000.0;  // no division by zero
    ordered_json summary{
        {"status", status_of(result.outcome)},
        {"steps", result.progression.step},
        {"process_steps", result.steps.size()},
        {"ranks", session.ranks()},
        {"wall_seconds", wall_seconds},
        {"train_seconds", milliseconds / 1000.0},
        {"samples_per_second", static_cast<double>(samples) / seconds},
        {"tokens_per_second", static_cast<double>(tokens) / seconds},
        {"step_ms", base::to_json(bench::median_interval(times))},
        {"peak_memory_bytes", memory.peak},
        {"memory",
         {{"parameters", memory.parameters},
          {"gradients", memory.gradients},
          {"optimizer", memory.optimizer},
          {"masters", memory.masters},
          {"other", std::max<std::int64_t>(0, memory.peak - memory.parameters - memory.gradients -
                                                  memory.optimizer - memory.masters)}}},
        {"train_loss", last_loss(result.steps)},
        {"eval", nullptr},
        {"skipped_steps", result.progression.skipped_steps},
        {"nonfinite_steps", result.progression.nonfinite_steps},
        {"rewinds", rewinds_json(result.rewinds)},
        {"executed", compare::executed_json(session.executed())},
        {"loader", loader_json(session.train_loader().stats())},
        {"rows", rows_json(session.data().train_rows)},
        {"eval_rows", rows_json(session.data().eval_rows)},
        {"also_in_train", session.data().also_in_train}};
    if (const auto mfu = utilization.of(work, milliseconds / 1000.0)) summary["mfu"] = *mfu;
    if (const auto& peak = utilization.peak)
        summary["matmul_peak"] = {
            {"flops_per_second", peak->flops_per_second}, {"dtype", peak->dtype}, {"of", peak->of}};
    if (!session.data().sources.empty()) summary["sources"] = sources_json(session.data().sources);
    if (result.graphs.any()) {
        summary["cuda_graph"] = {{"captures", result.graphs.captures},
                                 {"replays", result.graphs.replays},
                                 {"uncaptured", result.graphs.uncaptured}};
    }
    if (result.communication) summary["communication"] = communication_json(*result.communication);
    if (result.eval.complete) {
        summary["eval"] = evaluation_json(result.eval, *session.data().eval, session.tokenizer());
    }
    const auto& train = session.config().train;
    if (result.best) {
        summary["best"] = {
            {"step", result.best->step}, {"metric", train.keep_best}, {"value", result.best->value}};
    }
    if (train.patience > 0) summary["stopped_early"] = result.stopped_early;
    if (const auto shadows = all_shadow_lines(result); !shadows.empty())
        summary["shadow"] = shadow_json(shadows);
    if (!result.error.empty()) summary["error"] = result.error;
    return summary;
}

std::string skipped_rows_text(const data::Splits& splits) {
    std::string lines;
    for (const auto& row : splits.skipped) {
        const ordered_json line{{"file", row.file},
                                {"line", row.place.line},
                                {"column", row.place.column},
                                {"problem", row.message},
                                {"split", row.eval ? "eval" : "train"}};
        lines += line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
    }
    const auto listed = static_cast<std::int64_t>(splits.skipped.size());
    const auto& train = splits.train_rows;
    const auto& eval = splits.eval_rows;
    const auto more = train.skipped - train.empty + eval.skipped - eval.empty - listed;
    if (more > 0) lines += ordered_json{{"not_listed", more}}.dump() + '\n';
    return lines;
}

}  // namespace switchyard::cli
