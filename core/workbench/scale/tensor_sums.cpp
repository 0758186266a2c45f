#include "core/workbench/scale/tensor_sums.h"

#include <numeric>

#include "core/kernel/config/mesh_checks.h"
#include "core/workbench/model/pipeline_stage.h"

namespace switchyard::scale {

namespace {

constexpr double numbers_of_row = 3.0;  // of each part of the words, in float32 (model/lm_head.h)

}  // namespace

TensorSums tensor_sums(const config::Config& config, DType computed_in) {
    TensorSums sums;
    if (config.mesh.tensor == 1) return sums;
    const auto& model = config.model;
    const model::PipelineStage stage(config);
    std::int64_t layers = 0;
    for (const auto stack : {config::Stack::encoder, config::Stack::decoder}) {
        if (!stage.has(stack)) continue;
        const bool cross = stack == config::Stack::decoder && model.has_cross_attention();
        const auto [begin, end] = stage.layers(stack);
        layers += end - begin;
        sums.forward += (end - begin) * (cross ? 3 : 2);
        sums.backward += cross ? 1 : 0;  // of what all layers read of the encoder
    }
    sums.backward += sums.forward;
    const auto tokens = static_cast<double>(config.batch.most_tokens());
    const auto value_bytes = static_cast<double>(size_of(computed_in));
    if (config.train.recompute == config::Recompute::layers)
        sums.backward += sums.forward / config.train.recompute_every;
    if (config.distributed.sequence_parallel) {
        // Gathered behind the last block, and in backward before the first: two halves a stack. Of what runs
        // again the tokens are gathered again.
        for (const auto stack : {config::Stack::encoder, config::Stack::decoder})
            sums.forward += stage.has(stack) ? 1 : 0;
        const auto part = config.train.recompute;
        if (part == config::Recompute::attention || part == config::Recompute::feed_forward)
            sums.backward += layers / (2 * config.train.recompute_every);
    }
    sums.bytes = tokens * static_cast<double>(model.hidden_size) * value_bytes;
    if (!config::cuts_words(config)) return sums;
    for (const auto stack : {config::Stack::encoder, config::Stack::decoder})
        if (stage.begins(stack)) ++sums.forward;
    if (!config.task.predicts_tokens() || !stage.is_last()) return sums;
    sums.backward += 1;
    sums.loss_bytes = tokens * numbers_of_row * 4.0 * static_cast<double>(config.mesh.tensor);
    return sums;
}

void add_sums(StepCosts& costs, const TensorSums& sums, std::int64_t accumulated, double sum_ms,
              double loss_ms) {
    const double last = sum_ms * static_cast<double>(sums.backward);
    costs.waits_ms =
        sum_ms * static_cast<double>(sums.all(accumulated)) + loss_ms * static_cast<double>(accumulated);
    costs.forward_ms += costs.waits_ms - last;
    const double backward = std::accumulate(costs.backward_ms.begin(), costs.backward_ms.end(), 0.0);
    for (auto& one : costs.backward_ms) one += backward > 0.0 ? last * one / backward : 0.0;
}

}  // namespace switchyard::scale
