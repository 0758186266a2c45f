#include "core/workbench/train/predict.h"

#include <ATen/core/grad_mode.h>

#include <sstream>

#include "core/kernel/base/input_error.h"
#include "core/workbench/data/sample_list.h"
#include "core/workbench/data/word_tokens.h"

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

std::shared_ptr<const SampleSource> samples_of(const Session& session, const std::vector<GivenText>& texts) {
    const auto& config = session.config();
    const auto classes = static_cast<std::size_t>(config.task.classes(config.model.vocab_size));
    auto samples = std::make_shared<data::SampleList>();
    for (const auto& [text, second] : texts) {
        Sample sample;
        if (!takes_pairs(config)) {
            sample.ids = session.tokenizer().encode_with_specials(text, config.batch.max_length);
        } else {
            auto pair = session.tokenizer().encode_pair(text, second, config.batch.max_length);
            sample.ids = std::move(pair.ids);
            sample.token_type_ids = std::move(pair.token_type_ids);
        }
        if (config.task.float_labels())
            sample.float_labels.assign(classes, 0.0F);
        else
            sample.labels = {0};
        samples->add(std::move(sample));
    }
    return samples;
}

// Calls `use(batch, values)` with what the model says of each batch of the samples.
template <class Use>
void for_each_batch(Session& session, std::shared_ptr<const SampleSource> samples, const BeforeBatch& before,
                    const Use& use) {
    model::ForwardContext context;
    context.phase = Phase::eval;
    const auto& loader = session.start_eval_loader(std::move(samples));
    session.plan().precision().begin_step();
    for (Batch batch; loader.next(batch);) {
        if (before) before();
        use(batch, told(session.model().logits(context, batch), session.config().task.kind));
    }
    session.plan().precision().end_step();
}

// Hands on each word that was added; why the next one cannot be, or nothing.
template <class Take>
std::string add_words(const std::string& text, data::WordTokens& tokens, const Take& take) {
    std::istringstream stream(text);
    for (std::string word; stream >> word;) {
        if (auto problem = tokens.add(word); !problem.empty()) return problem;
        take(std::move(word));
    }
    return "";
}

}  // namespace

bool takes_pairs(const config::Config& config) {
    return config.task.kind == TaskKind::next_sentence || !config.data.pair_column.empty();
}

std::vector<std::vector<double>> predict(Session& session, const std::vector<GivenText>& texts,
                                         const data::LabelScale& scale, const BeforeBatch& before) {
    const at::NoGradGuard no_grad;
    std::vector<std::vector<double>> rows(texts.size());
    for_each_batch(
        session, samples_of(session, texts), before, [&](const Batch& batch, const at::Tensor& values) {
            const auto columns = values.size(1);
            for (std::size_t i = 0; i < batch.samples.size(); ++i) {
                const auto* from = values.const_data_ptr<double>() + static_cast<std::int64_t>(i) * columns;
                auto& row = rows[static_cast<std::size_t>(batch.samples[i])];
                row.assign(from, from + columns);
                for (std::size_t c = 0; c < row.size(); ++c) row[c] = scale.value(c, row[c]);
            }
        });
    return rows;
}

std::string word_problem(const Session& session, const std::string& text) {
    data::WordTokens tokens(session.tokenizer());
    return add_words(text, tokens, [](const std::string&) {});
}

std::vector<std::vector<LabelledWord>> predict_words(Session& session, const std::vector<GivenText>& texts,
                                                     const BeforeBatch& before) {
    const at::NoGradGuard no_grad;
    std::vector<std::vector<std::int64_t>> places;  // of each text's words, as FramedWords has them
    std::vector<std::vector<LabelledWord>> labelled;
    const auto samples = std::make_shared<data::SampleList>();
    for (const auto& given : texts) {
        auto& words = labelled.emplace_back();
        data::WordTokens tokens(session.tokenizer());
        const auto problem = add_words(given.text, tokens, [&](std::string word) {
            words.push_back({std::move(word), {}});
        });
        if (!problem.empty())
            throw base::InputError("text " + std::to_string(labelled.size()) + ": error: " + problem);
        auto framed = std::move(tokens).framed(session.config().batch.max_length);
        places.push_back(std::move(framed.places));
        Sample sample;
        sample.labels.assign(framed.ids.size(), 0);
        sample.ids = std::move(framed.ids);
        samples->add(std::move(sample));
    }
    for_each_batch(session, samples, before, [&](const Batch& batch, const at::Tensor& values) {
        const bool packed = batch.source.tokens.layout == Layout::packed;
        const auto columns = values.size(1);
        std::int64_t begin = 0;  // of the text, among the rows of values
        for (const auto sample : batch.samples) {
            const auto text = static_cast<std::size_t>(sample);
            for (std::size_t w = 0; w < labelled[text].size(); ++w) {
                if (places[text][w] < 0) continue;
                const auto* from = values.const_data_ptr<double>() + (begin + places[text][w]) * columns;
                labelled[text][w].probabilities.assign(from, from + columns);
            }
            begin += packed ? samples->length(sample) : batch.source.ids.size(1);
        }
    });
    return labelled;
}

}  // namespace switchyard::train
