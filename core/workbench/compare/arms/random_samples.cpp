#include "core/workbench/compare/arms/random_samples.h"

#include <algorithm>

#include <random>

namespace switchyard::compare {
namespace {

constexpr std::int64_t no_label = -100;
constexpr std::uint64_t one_label_in = 7;  // BERT's 15 %

// std::uniform_int_distribution differs between standard libraries.
std::int64_t below(std::mt19937_64& random, std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
}

std::vector<std::int64_t> words(std::mt19937_64& random, std::int64_t length, std::int64_t vocabulary) {
    std::vector<std::int64_t> ids;
    for (std::int64_t t = 0; t < length; ++t) ids.push_back(below(random, vocabulary));
    return ids;
}

// The token after each of `ids`, and one of its own for the last.
std::vector<std::int64_t> following(std::mt19937_64& random, const std::vector<std::int64_t>& ids,
                                    std::int64_t vocabulary) {
    std::vector<std::int64_t> labels(ids.begin() + 1, ids.end());
    labels.push_back(below(random, vocabulary));
    return labels;
}

std::vector<std::int64_t> labels_of(std::mt19937_64& random, const std::vector<std::int64_t>& ids,
                                    std::int64_t classes) {
    std::vector<std::int64_t> labels;
    for (const std::int64_t id : ids)
        labels.push_back(random() % one_label_in == 0 ? id % classes : no_label);
    return labels;
}

}  // namespace

data::SampleList random_samples(const config::Config& config, std::int64_t count,
                                std::optional<bench::LengthRange> lengths, std::uint64_t seed) {
    data::SampleList samples;
    std::mt19937_64 random(seed);
    const std::int64_t longest = config.batch.max_length;
    const std::int64_t vocabulary = config.model.vocab_size;
    // A task without classes is refused by whoever makes its model, who says so better.
    const std::int64_t classes = std::max<std::int64_t>(config.task.classes(vocabulary), 1);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t length = !lengths ? longest
                                    : lengths->median > 0
                                        ? lengths->at(static_cast<double>(random() >> 11U) * 0x1p-53)
                                        : lengths->min + below(random, lengths->max - lengths->min + 1);
        Sample sample;
        sample.ids = words(random, length, vocabulary);
        if (config.task.kind == config::TaskKind::seq2seq) {
            sample.target_ids = words(random, length, vocabulary);
            sample.labels = following(random, sample.target_ids, vocabulary);
        } else if (config.task.kind == config::TaskKind::causal_lm) {
            sample.labels = following(random, sample.ids, vocabulary);
        } else if (config.task.label_per_token()) {
            sample.labels = labels_of(random, sample.ids, classes);
        } else if (config.task.float_labels()) {
            for (std::int64_t c = 0; c < classes; ++c)
                sample.float_labels.push_back(static_cast<float>(below(random, 2)));
        } else {
            sample.labels = {below(random, classes)};
        }
        samples.add(std::move(sample));
    }
    return samples;
}

}  // namespace switchyard::compare
