#include <switchyard/compare/random_samples.h>

#include <random>

namespace switchyard::compare {
namespace {

constexpr std::int64_t no_label = -100;
constexpr std::uint64_t one_label_in = 7;  // BERT's 15 %

// std::uniform_int_distribution differs between standard libraries.
std::int64_t below(std::mt19937_64& random, std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
}

}  // namespace

RandomSamples::RandomSamples(const config::Config& config, std::int64_t count,
                             std::optional<LengthRange> lengths, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::int64_t longest = config.batch.max_length;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t length =
            lengths ? lengths->min + below(random, lengths->max - lengths->min + 1) : longest;
        switchyard::Sample sample;
        for (std::int64_t t = 0; t < length; ++t)
            sample.ids.push_back(below(random, config.model.vocab_size));
        if (config.task.label_per_token()) {
            for (const std::int64_t id : sample.ids)
                sample.labels.push_back(random() % one_label_in == 0
                                            ? id % config.task.classes(config.model.vocab_size)
                                            : no_label);
        } else {
            sample.labels = {below(random, config.task.classes(config.model.vocab_size))};
        }
        samples_.push_back(std::move(sample));
    }
}

}  // namespace switchyard::compare
