#include "core/workbench/train/predict.h"

#include <ATen/core/grad_mode.h>

#include "core/workbench/data/sample_list.h"

namespace switchyard::train {
namespace {

using config::TaskKind;

// What logits say: probabilities, or numbers as they were learnt.
at::Tensor told(const at::Tensor& logits, TaskKind kind) {
    const auto wide = logits.to(at::kDouble);
    const auto values = kind == TaskKind::regression    ? wide
                        : kind == TaskKind::multi_label ? wide.sigmoid()
                                                        : wide.softmax(1);
    return values.cpu().contiguous();
}

data::SampleList samples_of(const Session& session, const std::vector<std::string>& texts) {
    const auto& config = session.config();
    const auto classes = static_cast<std::size_t>(config.task.classes(config.model.vocab_size));
    data::SampleList samples;
    for (const auto& text : texts) {
        Sample sample;
        sample.ids = session.tokenizer().encode_with_specials(text, config.batch.max_length);
        if (config.task.float_labels())
            sample.float_labels.assign(classes, 0.0F);
        else
            sample.labels = {0};
        samples.add(std::move(sample));
    }
    return samples;
}

}  // namespace

std::vector<std::vector<double>> predict(Session& session, const std::vector<std::string>& texts,
                                         const data::LabelScale& scale) {
    const at::NoGradGuard no_grad;
    const auto samples = samples_of(session, texts);
    model::ForwardContext context;
    context.phase = Phase::eval;
    std::vector<std::vector<double>> rows(texts.size());
    const auto& loader = session.start_eval_loader(samples);
    session.plan().precision().begin_step();
    Batch batch;
    while (loader.next(batch)) {
        const auto values = told(session.model().logits(context, batch), session.config().task.kind);
        const auto columns = values.size(1);
        for (std::size_t i = 0; i < batch.samples.size(); ++i) {
            const auto* from = values.const_data_ptr<double>() + static_cast<std::int64_t>(i) * columns;
            auto& row = rows[static_cast<std::size_t>(batch.samples[i])];
            row.assign(from, from + columns);
            for (std::size_t c = 0; c < row.size(); ++c) row[c] = scale.value(c, row[c]);
        }
    }
    session.plan().precision().end_step();
    return rows;
}

}  // namespace switchyard::train
