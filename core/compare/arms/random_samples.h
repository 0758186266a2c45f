// Made-up samples for a model and its task, a function of the seed alone: what a training step is timed on
// where no data is at hand.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <switchyard/compare/bench/bench_settings.h>
#include <switchyard/config/config.h>
#include <switchyard/interfaces/data_loader.h>

namespace switchyard::compare {

class RandomSamples final : public SampleSource {
public:
    // Lengths drawn uniformly from `lengths`, or all of batch.max_length. Labels: one class a sample, one
    // token in seven, or, for the next token of a gpt or a t5, of every token; a t5's target is as long as
    // its source.
    RandomSamples(const config::Config& config, std::int64_t count, std::optional<LengthRange> lengths,
                  std::uint64_t seed);

    std::int64_t size() const override { return static_cast<std::int64_t>(samples_.size()); }
    std::int64_t length(std::int64_t index) const override {
        const auto& sample = samples_.at(static_cast<std::size_t>(index));
        return static_cast<std::int64_t>(sample.ids.size() + sample.target_ids.size());
    }
    Sample get(std::int64_t index, std::int64_t) const override {
        return samples_.at(static_cast<std::size_t>(index));
    }

private:
    std::vector<Sample> samples_;
};

}  // namespace switchyard::compare
