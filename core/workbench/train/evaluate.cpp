#include "core/workbench/train/evaluate.h"

#include <cmath>
#include <limits>

#include <ATen/core/grad_mode.h>

#include "core/workbench/train/eval_part.h"
#include "core/workbench/train/step_parts.h"

namespace switchyard::train {

std::int64_t sample_count(const Batch& batch) {
    const auto& samples = batch.samples;
    std::int64_t count = samples.empty() ? 0 : 1;
    for (std::size_t i = 1; i < samples.size(); ++i) count += samples[i] != samples[i - 1] ? 1 : 0;
    return count;
}

namespace {

// Whether there is a batch for the next pass. Where ranks divide parameters they make passes together: those
// without a batch of their own go along until nobody has one.
bool begins_pass(ParameterShards* shards, bool own) {
    if (shards == nullptr) return own;
    while (shards->any(own)) {
        if (own) return true;
        shards->pass_along();
    }
    return false;
}

}  // namespace

EvalResult evaluate(const config::Config& config, const model::BoundPlan& plan, const model::Model& model,
                    const runtime::DataLoaderOp& loader, const EvalHooks& hooks) {
    const at::NoGradGuard no_grad;
    model::ForwardContext context;
    context.phase = Phase::eval;
    context.layers = hooks.parameters;
    context.ranks = hooks.parts;
    const auto loss = summed_loss(config);

    EvalResult result;
    loader.seek({});
    plan.precision().begin_step();
    const auto total = loader.batches(0);
    double sum = 0.0;
    std::int64_t hits = 0;
    bool with_logits = !config.task.float_labels();
    const auto metrics = eval_metrics(config, hooks.scale);
    WorstSamples worst(config, hooks.scale);
    std::vector<double> numbers;  // for other ranks
    Batch batch;
    if (hooks.parameters != nullptr) hooks.parameters->begin_passes(false);
    // Ranks that need each other for a batch are not told at the same one to stop: all go on to the last.
    const bool together = hooks.parts != nullptr || hooks.pipeline != nullptr;
    const auto stops = [&] { return !together && hooks.stop && hooks.stop(); };
    const auto has_batch = [&] { return loader.next(batch) && !stops(); };
    const auto add = [&](const model::TaskResult& task) {
        sum += task.loss.loss.item<double>();
        result.labels += task.loss.count.item<std::int64_t>();
        result.samples += sample_count(batch);
        if (metrics && hooks.mesh == nullptr) metrics->add(batch, task);
        if (metrics && hooks.mesh != nullptr) {
            const auto more = metrics->numbers(batch, task);
            numbers.insert(numbers.end(), more.begin(), more.end());
        }
        worst.add(batch, task);
        with_logits = with_logits && task.logits.defined();
        if (!with_logits || task.logits.size(0) == 0) return;
        const auto counted = task.targets.ne(loss.ignore_index);
        hits += task.logits.argmax(1).eq(task.targets).logical_and(counted).sum().item<std::int64_t>();
    };
    for (std::int64_t done = 0; begins_pass(hooks.parameters, has_batch()); ++done) {
        if (hooks.pipeline == nullptr)
            add(model.task(context, batch, loss));
        else if (const auto task = hooks.pipeline->forward(context, batch, loss))
            add(*task);
        if (hooks.progress) hooks.progress(done + 1, total);
        result.complete = done + 1 == total;
    }
    plan.precision().end_step();
    if (hooks.parameters != nullptr) hooks.parameters->end_passes();
    if (hooks.pipeline != nullptr) hooks.pipeline->end_forwards();
    if (hooks.mesh != nullptr) {
        EvalPart part{sum, hits, result.labels, result.samples, result.complete, with_logits};
        part.numbers = std::move(numbers);
        part.worst = worst.samples();
        for (auto& sample : part.worst) sample.sample += hooks.first_sample;
        worst = WorstSamples(config, hooks.scale);
        part = join_parts(*hooks.mesh, part);
        sum = part.loss;
        hits = part.hits;
        result.labels = part.labels;
        result.samples = part.samples;
        result.complete = part.complete;
        with_logits = part.with_logits;
        if (metrics) metrics->add(part.numbers);
        for (const auto& sample : part.worst) worst.add(sample);
    }
    result.worst = worst.samples();
    if (result.labels > 0) {
        const auto labels = static_cast<double>(result.labels);
        result.loss = sum / labels;
        const double perplexity = std::exp(result.loss);
        if (config.task.predicts_tokens() && config.loss.custom.empty() && std::isfinite(perplexity))
            result.perplexity = perplexity;
    } else {
        result.loss = std::numeric_limits<double>::quiet_NaN();
    }
    if (!std::isfinite(result.loss)) return result;  // the largest of logits that are NaN hits nothing
    if (with_logits) {
        result.hits = hits;
        result.accuracy = static_cast<double>(hits) / static_cast<double>(result.labels);
    }
    if (metrics) {
        result.metrics = metrics->result();
        std::erase_if(result.metrics, [](const auto& metric) { return !std::isfinite(metric.second); });
        if (const auto* const confusion = metrics->confusion()) result.confusion = *confusion;
    }
    return result;
}

}  // namespace switchyard::train
