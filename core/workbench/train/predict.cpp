#include "core/workbench/train/predict.h"

#include <ATen/core/grad_mode.h>

#include "core/workbench/data/sample_list.h"

namespace switchyard::train {

std::vector<std::vector<double>> predict(Session& session, const std::vector<std::string>& texts) {
    const at::NoGradGuard no_grad;
    data::SampleList samples;
    for (const auto& text : texts) {
        samples.add({session.tokenizer().encode_with_specials(text, session.config().batch.max_length),
                     {},
                     {},
                     {0},
                     {}});
    }
    model::ForwardContext context;
    context.phase = Phase::eval;
    std::vector<std::vector<double>> rows(texts.size());
    const auto& loader = session.start_eval_loader(samples);
    session.plan().precision().begin_step();
    Batch batch;
    while (loader.next(batch)) {
        const auto probabilities =
            session.model().logits(context, batch).to(at::kDouble).softmax(1).cpu().contiguous();
        const auto* values = probabilities.const_data_ptr<double>();
        const auto classes = probabilities.size(1);
        for (std::size_t i = 0; i < batch.samples.size(); ++i) {
            const auto* row = values + static_cast<std::int64_t>(i) * classes;
            rows[static_cast<std::size_t>(batch.samples[i])].assign(row, row + classes);
        }
    }
    session.plan().precision().end_step();
    return rows;
}

}  // namespace switchyard::train
