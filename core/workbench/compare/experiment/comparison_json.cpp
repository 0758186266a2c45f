// A comparison as JSON: docs/schema/compare.json; its blocks as lines: docs/schema/compare_block.json.
#include <nlohmann/json.hpp>

#include "core/kernel/base/json_text.h"
#include "core/workbench/compare/experiment/arm_ranks.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/experiment/effects.h"
#include "core/workbench/profile/profile_report.h"

namespace switchyard::compare {
namespace {

using Json = nlohmann::ordered_json;

Json numbers(const std::vector<double>& values) {
    Json list = Json::array();
    for (const double value : values) list.push_back(base::number_or_null(value));
    return list;
}

Json drift(const Drift& value) {
    return {{"loss", base::number_or_null(value.loss)},
            {"output", base::number_or_null(value.output)},
            {"gradient", base::number_or_null(value.gradient)}};
}

// Of a metric by which nothing is told of the task: null.
Json score_json(const Comparison& comparison, const std::optional<double>& value, EvalMetric metric) {
    return value && comparison.eval_metric == metric ? base::number_or_null(*value) : Json(nullptr);
}

Json evaluation_json(const Comparison& comparison, const std::optional<Evaluation>& evaluation) {
    if (!evaluation) return nullptr;
    const auto scored = [&](EvalMetric metric) {
        return score_json(comparison, value_of(evaluation, metric), metric);
    };
    return {{"samples", evaluation->samples},
            {"labels", evaluation->labels},
            {"correct", evaluation->correct < 0 ? Json(nullptr) : Json(evaluation->correct)},
            {"accuracy", scored(EvalMetric::accuracy)},
            {"perplexity", scored(EvalMetric::perplexity)},
            {"evaluation_loss", base::number_or_null(evaluation->loss)}};
}

Json block_json(const std::optional<ArmBlock>& block) {
    if (!block) return nullptr;
    return {
        {"step_ms", base::number_or_null(block->sample.ms)},
        {"steps", block->steps},
        {"position", block->sample.position},
        {"outlier", block->sample.outlier},
        {"involuntary_switches",
         block->sample.involuntary_switches < 0 ? Json(nullptr) : Json(block->sample.involuntary_switches)},
        {"turn_ms", base::number_or_null(block->wall_ms)},
        {"round", block->round},
        {"repeated", block->repeated},
        {"page_faults", block->page_faults < 0 ? Json(nullptr) : Json(block->page_faults)},
        {"others_share", block->others_share < 0.0 ? Json(nullptr) : Json(block->others_share)},
        {"mhz", block->clock.mhz < 0.0 ? Json(nullptr) : Json(block->clock.mhz)},
        {"celsius", block->clock.celsius < 0.0 ? Json(nullptr) : Json(block->clock.celsius)},
        {"samples", block->samples},
        {"tokens", block->tokens},
        {"prefill_ms", base::number_or_null(block->prefill_ms)}};
}

Json arm_json(const Comparison& comparison, std::size_t at) {
    const auto& arm = comparison.arms[at];
    const bool timed = arm.ok();
    Json blocks = Json::array(), seeds = Json::array(), evaluations = Json::array();
    for (const auto& evaluation : arm.evaluations)
        evaluations.push_back(evaluation_json(comparison, evaluation));
    const auto median = [&](EvalMetric metric) {
        return score_json(comparison, median_of(arm.evaluations, metric), metric);
    };
    const auto eval_loss = median_of(arm.evaluations, EvalMetric::loss);
    for (const auto& block : arm.blocks) blocks.push_back(block_json(block));
    for (const auto& losses : arm.seed_losses) seeds.push_back(numbers(losses));
    return {{"name", arm.spec.name},
            {"overrides", arm.spec.overrides},
            {"program", arm.spec.external() ? Json(arm.spec.program) : Json(nullptr)},
            {"ranks", arm.spec.ranks},
            {"differs", arm.spec.differs},
            {"status", name(arm.status)},
            {"reason", arm.reason},
            {"description", arm.description},
            {"dtype", arm.dtype},
            {"samples_per_second", timed ? base::number_or_null(arm.samples_per_second) : Json(nullptr)},
            {"tokens_per_second", timed ? base::number_or_null(arm.tokens_per_second) : Json(nullptr)},
            {"step_ms", timed ? base::to_json(arm.step_ms) : Json(nullptr)},
            {"prefill_ms", timed && arm.prefill_ms ? base::to_json(*arm.prefill_ms) : Json(nullptr)},
            {"decode_ms", timed && arm.decode_ms ? base::to_json(*arm.decode_ms) : Json(nullptr)},
            {"same_tokens", base::number_or_null(arm.same_tokens)},
            {"timed_by", arm.by_coordinator ? "coordinator" : "arm"},
            {"peak_memory_bytes", arm.peak_memory_bytes < 0 ? Json(nullptr) : Json(arm.peak_memory_bytes)},
            {"flops_per_second", base::number_or_null(comparison.flops_per_second(at))},
            {"observed", arm.observed ? profile::to_json(*arm.observed) : Json(nullptr)},
            {"drift", drift(arm.drift)},
            {"drift_allowed", drift(arm.allowed)},
            {"executed", arm.executed},
            {"skipped_steps", arm.skipped_steps},
            {"stability",
             {{"stable", arm.stability.stable ? Json(*arm.stability.stable) : Json(nullptr)},
              {"reason", arm.stability.reason},
              {"loss_drift", base::number_or_null(arm.stability.loss_drift)},
              {"late_skipped_steps", arm.stability.late_skips}}},
            {"measured_before", arm.measured_before.empty() ? Json(nullptr) : Json(arm.measured_before)},
            {"outliers", arm.outliers},
            {"steady_from_step", arm.steady_from},
            {"start_up_ms", base::number_or_null(arm.start_up_ms)},
            {"blocks", blocks},
            {"losses", numbers(arm.losses)},
            {"final_losses", numbers(arm.final_losses)},
            {"seed_losses", seeds},
            {"accuracy", median(EvalMetric::accuracy)},
            {"perplexity", median(EvalMetric::perplexity)},
            {"evaluation_loss", eval_loss ? base::number_or_null(*eval_loss) : Json(nullptr)},
            {"evaluations", evaluations},
            {"not_evaluated", arm.not_evaluated.empty() ? Json(nullptr) : Json(arm.not_evaluated)}};
}

Json pair_json(const Comparison& comparison, const PairResult& pair) {
    Json loss = nullptr;
    if (pair.loss) {
        loss = {{"verdict", name(pair.loss->verdict)},
                {"difference", base::number_or_null(pair.loss->difference)},
                {"low", base::number_or_null(pair.loss->low)},
                {"high", base::number_or_null(pair.loss->high)},
                {"p", base::number_or_null(pair.loss->p)},
                {"seeds", pair.loss->seeds},
                {"reason", pair.loss->reason}};
    }
    const auto efficiency = parallel_efficiency(comparison, pair);
    return {{"base", comparison.arms[pair.base].spec.name},
            {"arm", comparison.arms[pair.arm].spec.name},
            {"speedup", base::to_json(pair.speedup)},
            {"verdict", name(pair.verdict)},
            {"p", base::number_or_null(pair.p)},
            {"p_corrected", base::number_or_null(pair.p_corrected)},
            {"total_speedup", base::number_or_null(pair.total_speedup)},
            {"block_correlation", base::number_or_null(pair.correlation)},
            {"reason", pair.reason},
            {"note", pair.note},
            {"sentence", sentence(comparison, pair)},
            {"parallel_efficiency", efficiency ? base::to_json(*efficiency) : Json(nullptr)},
            {"loss", loss}};
}

}  // namespace

Json to_json(const Comparison& comparison) {
    Json arms = Json::array(), pairs = Json::array();
    for (std::size_t at = 0; at < comparison.arms.size(); ++at) arms.push_back(arm_json(comparison, at));
    for (const auto& pair : comparison.pairs) pairs.push_back(pair_json(comparison, pair));
    Json margin = nullptr;
    if (comparison.margin)
        margin = {{"size", comparison.margin->size}, {"relative", comparison.margin->relative}};
    Json effects = Json::array();
    for (const auto& effect : effects_of(comparison))
        effects.push_back({{"kind", name(effect.kind)},
                           {"change", effect.change},
                           {"speedup", base::to_json(effect.estimate.ratio)},
                           {"p", base::number_or_null(effect.estimate.p)}});
    return {
        {"operation", name(comparison.operation)},
        {"new_tokens", comparison.new_tokens > 0 ? Json(comparison.new_tokens) : Json(nullptr)},
        {"arms", arms},
        {"pairs", pairs},
        {"effects", effects},
        {"blocks", comparison.blocks},
        {"rounds", comparison.rounds},
        {"repeated_blocks", comparison.repeated_blocks},
        {"steps_per_block", comparison.steps_per_block},
        {"lead_in_steps", comparison.lead_in},
        {"warm_up_steps", comparison.warm_up_steps},
        {"later_warm_up_steps", comparison.later_warm_up_steps},
        {"seed", comparison.seed},
        {"seeds", comparison.seeds},
        {"loss_steps", comparison.loss_steps},
        {"eval_samples", comparison.eval_samples},
        {"loss_margin", margin},
        {"roofs", comparison.roofs.products.empty() ? Json(nullptr) : profile::roofs_json(comparison.roofs)},
        {"forced", comparison.forced()},
        {"stopped", comparison.stopped},
        {"elapsed_seconds", base::number_or_null(comparison.elapsed_ms / 1e3)},
        {"exit_code", comparison.exit_code()}};
}

std::vector<Json> block_lines(const Comparison& comparison) {
    std::vector<Json> lines;
    for (const auto& arm : comparison.arms) {
        for (std::size_t at = 0; at < arm.blocks.size(); ++at) {
            const auto& block = arm.blocks[at];
            if (!block) continue;
            Json line{
                {"arm", arm.spec.name},
                {"measured_before", arm.measured_before.empty() ? Json(nullptr) : Json(arm.measured_before)},
                {"block", at},
                {"seconds",
                 base::number_or_null(block->sample.ms * static_cast<double>(block->steps) / 1e3)}};
            line.update(block_json(block));
            lines.push_back(std::move(line));
        }
    }
    return lines;
}

}  // namespace switchyard::compare
