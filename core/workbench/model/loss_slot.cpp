#include "core/workbench/model/loss_slot.h"

namespace switchyard::model {

Slot<runtime::LossOp> loss_slot(Builder& builder) {
    const auto& config = builder.config();
    const auto& slot = config.loss;
    return builder.slot<runtime::LossOp>(
        {Kind::loss, "loss", "model", slot}, [&](const Requests& requests, Phase phase) {
            auto r = requests.make<LossRequest>(OpClass::loss, config::head_of(config.task), phase, slot);
            r.rows = config.task.label_per_token() ? Range(0, requests.rows(phase).max) : requests.batch();
            r.projection = slot.projection && config.task.predicts_tokens();
            r.projection_bias = r.projection && config.model.type == config::ModelType::bert;
            r.width = r.projection ? config.model.hidden_size : 0;
            // Of words of which ranks have parts, in training, each part alone (lm_head.h).
            const auto words = builder.word_cut();
            const bool parts = phase == Phase::train && config.task.predicts_tokens() && !words.whole();
            r.classes = config.task.classes(config.model.vocab_size) / (parts ? words.part.parts : 1);
            r.label_smoothing = phase == Phase::train && !parts ? slot.label_smoothing : 0.0;
            r.z_loss = phase == Phase::train && !parts ? slot.z_loss : 0.0;
            r.per_row = parts;
            r.loss = config.loss_kind();
            r.custom = slot.custom;
            r.value_targets = is_custom(r.loss) && config.task.float_labels();
            r.may_overwrite_logits = r.needs_grad && !r.projection && !parts;
            return r;
        });
}

}  // namespace switchyard::model
