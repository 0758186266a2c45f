// Samples that are held in memory as they are.
#pragma once

#include <vector>

#include <switchyard/interfaces/data_loader.h>

namespace switchyard::data {

class SampleList final : public SampleSource {
public:
    SampleList() = default;
    explicit SampleList(std::vector<Sample> samples) : samples_(std::move(samples)) {}

    void add(Sample sample) { samples_.push_back(std::move(sample)); }
    std::int64_t size() const override { return static_cast<std::int64_t>(samples_.size()); }
    std::int64_t length(std::int64_t index) const override {
        const auto& sample = samples_.at(static_cast<std::size_t>(index));
        return static_cast<std::int64_t>(sample.ids.size() + sample.target_ids.size());
    }
    std::int64_t target_length(std::int64_t index) const override {
        return static_cast<std::int64_t>(samples_.at(static_cast<std::size_t>(index)).target_ids.size());
    }
    Sample get(std::int64_t index, std::int64_t) const override {
        return samples_.at(static_cast<std::size_t>(index));
    }

private:
    std::vector<Sample> samples_;
};

}  // namespace switchyard::data
