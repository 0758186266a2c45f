// A bench of inference as JSON: docs/schema/bench_inference.json.
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/kernel/base/json_text.h"
#include "core/workbench/bench/bench_report.h"
#include "core/workbench/compare/inference/cache_table.h"
#include "core/workbench/compare/inference/inference_report.h"

namespace switchyard::compare {
namespace {

using Json = nlohmann::ordered_json;

Json latency_json(const Latency& latency) {
    if (!latency.known()) return nullptr;
    return {
        {"median", base::number_or_null(latency.ms.median)}, {"low", base::number_or_null(latency.ms.low)},
        {"high", base::number_or_null(latency.ms.high)},     {"p95", base::number_or_null(latency.p95)},
        {"p99", base::number_or_null(latency.p99)},          {"count", latency.count}};
}

Json count_or_null(std::int64_t count) { return count < 0 ? Json(nullptr) : Json(count); }

Json timed_block(const std::optional<InferenceBlock>& block) {
    if (!block) return nullptr;
    return {{"pass_ms", base::number_or_null(block->sample.ms)},
            {"first_token_ms", base::number_or_null(block->prefill_ms)},
            {"token_ms", base::number_or_null(block->token_ms)},
            {"position", block->sample.position},
            {"outlier", block->sample.outlier},
            {"round", block->round},
            {"repeated", block->repeated},
            {"others_share", block->others_share < 0.0 ? Json(nullptr) : Json(block->others_share)},
            {"involuntary_switches", count_or_null(block->sample.involuntary_switches)},
            {"turn_ms", base::number_or_null(block->wall_ms)}};
}

Json result_json(const WorkloadResult& result) {
    Json blocks = Json::array();
    for (const auto& block : result.blocks) blocks.push_back(timed_block(block));
    return {{"pass_ms", latency_json(result.pass)},
            {"first_token_ms", latency_json(result.first_token)},
            {"token_ms", latency_json(result.next_token)},
            {"timed_by", result.by_coordinator ? "coordinator" : "arm"},
            {"samples_per_second", base::number_or_null(result.samples_per_second)},
            {"tokens_per_second", base::number_or_null(result.tokens_per_second)},
            {"prefill_tokens_per_second", base::number_or_null(result.prefill_tokens_per_second)},
            {"decode_tokens_per_second", base::number_or_null(result.decode_tokens_per_second)},
            {"prompt_tokens", count_or_null(result.prompt_tokens)},
            {"weight_bytes_read", count_or_null(result.read_bytes)},
            {"cache_bytes", count_or_null(result.cache_bytes)},
            {"peak_memory_bytes", count_or_null(result.peak_memory_bytes)},
            {"read_gbytes_per_second", base::number_or_null(result.read_gbytes_per_second)},
            {"share_of_read_bandwidth", base::number_or_null(result.read_share)},
            {"same_tokens", base::number_or_null(result.same_tokens)},
            {"outliers", result.outliers},
            {"executed", result.executed},
            {"blocks", blocks}};
}

Json inference_arm(const InferenceArmResult& arm) {
    Json results = Json::array();
    for (const auto& result : arm.results)
        results.push_back(result.pass.known() ? result_json(result) : Json(nullptr));
    return {{"name", arm.spec.name},
            {"overrides", arm.spec.overrides},
            {"program", arm.spec.external() ? Json(arm.spec.program) : Json(nullptr)},
            {"cached", arm.spec.cached},
            {"differs", arm.spec.differs},
            {"status", name(arm.status)},
            {"reason", arm.reason},
            {"description", arm.description},
            {"dtype", arm.dtype},
            {"reduced_accuracy", arm.reduced},
            {"weight_bytes", count_or_null(arm.weight_bytes)},
            {"drift", base::number_or_null(arm.drift)},
            {"drift_allowed", base::number_or_null(arm.allowed)},
            {"results", results}};
}

Json ratio_json(const std::optional<base::Interval>& ratio) {
    return ratio ? base::to_json(*ratio) : Json(nullptr);
}

Json inference_pair(const InferenceResult& result, const InferencePair& pair) {
    return {{"workload", pair.workload},
            {"base", result.arms[pair.base].spec.name},
            {"arm", result.arms[pair.arm].spec.name},
            {"speedup", base::to_json(pair.pass)},
            {"first_token_speedup", ratio_json(pair.prefill)},
            {"token_speedup", ratio_json(pair.decode)},
            {"verdict", name(pair.verdict)},
            {"p", base::number_or_null(pair.p)},
            {"p_corrected", base::number_or_null(pair.p_corrected)},
            {"total_speedup", base::number_or_null(pair.total_speedup)},
            {"block_correlation", base::number_or_null(pair.correlation)},
            {"reason", pair.reason},
            {"note", pair.note},
            {"sentence", sentence(result, pair)}};
}

Json cache_json(const InferenceResult& result) {
    Json rows = Json::array();
    for (const auto& row : cache_rows(result)) {
        const auto& workload = result.workloads[row.workload];
        rows.push_back({{"workload", row.workload},
                        {"cached", result.arms[row.cached].spec.name},
                        {"uncached", result.arms[row.whole].spec.name},
                        {"speedup", base::to_json(row.speedup)},
                        {"tokens_uncached", tokens_without_cache(workload.lengths.max, workload.tokens)},
                        {"tokens_cached", tokens_with_cache(workload.lengths.max, workload.tokens)},
                        {"tokens_ratio", row.tokens_ratio}});
    }
    return rows;
}

}  // namespace

Json to_json(const InferenceResult& result) {
    Json workloads = Json::array(), arms = Json::array(), pairs = Json::array();
    for (std::size_t i = 0; i < result.workloads.size(); ++i) {
        workloads.push_back(to_json(result.workloads[i]));
        workloads.back()["blocks"] = result.blocks[i];
        workloads.back()["passes_per_block"] = result.passes_per_block[i];
    }
    for (const auto& arm : result.arms) arms.push_back(inference_arm(arm));
    for (const auto& pair : result.pairs) pairs.push_back(inference_pair(result, pair));
    return {{"operation", name(result.operation)},
            {"rounds", result.rounds},
            {"repeated_blocks", result.repeated_blocks},
            {"workloads", workloads},
            {"arms", arms},
            {"pairs", pairs},
            {"cache", cache_json(result)},
            {"peaks",
             {{"read_gbytes_per_second", result.peaks.read_gbytes_per_second},
              {"copy_gbytes_per_second", result.peaks.copy_gbytes_per_second},
              {"buffer_bytes", result.peaks.buffer_bytes}}},
            {"seed", result.seed},
            {"forced", result.forced()},
            {"stopped", result.stopped},
            {"elapsed_seconds", base::number_or_null(result.elapsed_ms / 1e3)},
            {"exit_code", result.exit_code()}};
}

}  // namespace switchyard::compare
