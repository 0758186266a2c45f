// A model's loss, accuracy, perplexity and what else its task has, over all batches of a loader, without
// gradients.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/kernel/runtime/operations/data_loader_op.h"
#include "core/workbench/distributed/mesh.h"
#include "core/workbench/model/bound_plan.h"
#include "core/workbench/model/model.h"
#include "core/workbench/model/tensor_ranks.h"
#include "core/workbench/train/eval_metrics.h"
#include "core/workbench/train/parameter_shards.h"
#include "core/workbench/train/pipeline_step.h"
#include "core/workbench/train/worst_samples.h"

namespace switchyard::train {

struct EvalResult {
    bool complete = false;  // false: never run, or stopped
    double loss = 0.0;      // mean over labels, of the numbers as they are learnt; NaN: there was no label
    // What is scored beside the loss is finite; where the loss is not, there is nothing of it.
    // Share of labels that the largest logit hits; none where the loss projects by itself or nothing has one.
    std::optional<double> accuracy;
    std::optional<std::int64_t> hits;  // so many of `labels`
    std::optional<double> perplexity;  // exp(loss), where words are predicted and some have a label
    score::Metrics metrics;            // eval_metrics.h
    std::optional<score::ConfusionMatrix> confusion;  // of labels that exclude each other
    std::vector<WorstSample> worst;                   // of tasks with a label for a whole text
    std::int64_t labels = 0;
    std::int64_t samples = 0;
};

// Samples of a batch, each once however many documents it is made of.
std::int64_t sample_count(const Batch& batch);

struct EvalHooks {
    std::function<void(std::int64_t done, std::int64_t total)> progress;
    std::function<bool()> stop;
    data::LabelScale scale;  // of a regression's labels
    // Each of these ranks evaluates a part of the samples, `loader` this one's, and all get what holds of all
    // of them; nullptr: there is no other.
    const distributed::Mesh* mesh = nullptr;
    std::int64_t first_sample = 0;          // of that part
    ParameterShards* parameters = nullptr;  // where ranks divide them
    model::TensorRanks* parts = nullptr;    // where ranks have a part of each layer
    PipelineStep* pipeline = nullptr;  // where they have ranges of layers: the last stage's result counts
};

EvalResult evaluate(const config::Config& config, const model::BoundPlan& plan, const model::Model& model,
                    const runtime::DataLoaderOp& loader, const EvalHooks& hooks);

}  // namespace switchyard::train
