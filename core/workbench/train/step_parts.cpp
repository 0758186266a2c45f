#include "core/workbench/train/step_parts.h"

namespace switchyard::train {

std::int64_t labels_of(const std::vector<Batch>& batches, std::int64_t ignore_index) {
    std::int64_t labels = 0;
    for (const auto& batch : batches) labels += batch.labels.ne(ignore_index).sum().item<std::int64_t>();
    return labels;
}

LossParams step_loss(const config::Config& config, double divisor) {
    LossParams loss;
    loss.reduction = Reduction::sum;
    loss.divisor = divisor;
    loss.ignore_index = config.loss.ignore_index;
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
