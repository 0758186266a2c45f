#include <switchyard/train/evaluate.h>

#include <cmath>

#include <ATen/core/grad_mode.h>

namespace switchyard::train {

EvalResult evaluate(const config::Config& config, const model::BoundPlan& plan, const model::Model& model,
                    const model::DataLoaderOp& loader, const EvalHooks& hooks) {
    const at::NoGradGuard no_grad;
    model::ForwardContext context;
    context.phase = Phase::eval;
    LossParams loss;
    loss.reduction = Reduction::sum;
    loss.ignore_index = config.loss.ignore_index;

    EvalResult result;
    loader.seek({});
    plan.precision().begin_step();
    const auto total = loader.batches();
    double sum = 0.0;
    std::int64_t hits = 0;
    Batch batch;
    for (std::int64_t done = 0; loader.next(batch); ++done) {
        if (hooks.stop && hooks.stop()) break;
        const auto task = model.task(plan, context, batch, loss);
        sum += task.loss.loss.item<double>();
        result.labels += task.loss.count.item<std::int64_t>();
        result.samples += static_cast<std::int64_t>(batch.samples.size());
        if (task.logits.defined()) hits += task.logits.argmax(1).eq(task.targets).sum().item<std::int64_t>();
        if (hooks.progress) hooks.progress(done + 1, total);
        result.complete = done + 1 == total;
    }
    plan.precision().end_step();
    const auto labels = static_cast<double>(result.labels > 0 ? result.labels : 1);
    result.loss = sum / labels;
    result.accuracy = static_cast<double>(hits) / labels;
    result.perplexity = std::exp(result.loss);
    return result;
}

}  // namespace switchyard::train
