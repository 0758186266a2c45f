#include "core/workbench/train/step_parts.h"

#include "core/workbench/model/step_flops.h"
#include "core/workbench/train/evaluate.h"

namespace switchyard::train {

namespace {

std::int64_t label_count(const Batch& batch, std::int64_t ignore_index) {
    const auto counted = batch.float_labels.defined() ? batch.float_labels.isnan().logical_not()
                                                      : batch.labels.ne(ignore_index);
    return counted.sum().item<std::int64_t>();
}

}  // namespace

std::int64_t labels_of(const std::vector<Batch>& batches, std::int64_t ignore_index) {
    std::int64_t labels = 0;
    for (const auto& batch : batches) labels += label_count(batch, ignore_index);
    return labels;
}

std::int64_t sequences_of(const Batch& batch) {
    const auto& tokens = batch.source.tokens;
    if (tokens.layout == Layout::packed) return tokens.cu_seqlens.size(0) - 1;
    return static_cast<std::int64_t>(batch.samples.size());
}

SharedStep amounts_of(const std::vector<Batch>& batches, std::int64_t ignore_index) {
    SharedStep step;
    for (const auto& batch : batches) {
        step.samples += sample_count(batch);
        step.tokens += batch.source.count + batch.target.count;
        step.work += model::work_of(batch, ignore_index);
    }
    return step;
}

LossParams summed_loss(const config::Config& config) {
    LossParams loss;
    loss.loss = config.loss_kind();
    loss.reduction = Reduction::sum;
    loss.ignore_index = config.loss.ignore_index;
    return loss;
}

LossParams step_loss(const config::Config& config, double divisor) {
    auto loss = summed_loss(config);
    loss.divisor = divisor;
    loss.label_smoothing = config.loss.label_smoothing;
    loss.z_loss = config.loss.z_loss;
    loss.may_overwrite_logits = !config.loss.projection;
    return loss;
}

void collect_gradients(std::vector<ParameterGroup>& groups) {
    for (auto& group : groups) {
        for (auto& parameter : group.parameters) parameter.gradient = parameter.value.grad();
    }
}

void drop_gradients(std::vector<ParameterGroup>& groups) {
    for (auto& group : groups) {
        for (auto& parameter : group.parameters) parameter.gradient.reset();
    }
}

}  // namespace switchyard::train
