// Samples of several sources, one after the other.
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <switchyard/interfaces/data_loader.h>

namespace switchyard::data {

class SampleChain final : public SampleSource {
public:
    explicit SampleChain(std::vector<std::shared_ptr<const SampleSource>> parts) : parts_(std::move(parts)) {
        std::int64_t samples = 0;
        for (const auto& part : parts_) ends_.push_back(samples += part->size());
    }

    std::int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
    std::int64_t length(std::int64_t index) const override {
        const auto at = place(index);
        return parts_[at.part]->length(at.sample);
    }
    std::int64_t target_length(std::int64_t index) const override {
        const auto at = place(index);
        return parts_[at.part]->target_length(at.sample);
    }
    Sample get(std::int64_t index, std::int64_t epoch) const override {
        const auto at = place(index);
        return parts_[at.part]->get(at.sample, epoch);
    }

private:
    struct Place {
        std::size_t part;
        std::int64_t sample;
    };
    Place place(std::int64_t index) const {
        if (index < 0 || index >= size()) throw std::out_of_range("sample " + std::to_string(index));
        const auto part = std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin();
        const auto begin = part == 0 ? 0 : ends_[static_cast<std::size_t>(part - 1)];
        return {static_cast<std::size_t>(part), index - begin};
    }

    std::vector<std::shared_ptr<const SampleSource>> parts_;
    std::vector<std::int64_t> ends_;
};

// The only one that has samples is left as it is.
inline std::shared_ptr<const SampleSource> chained(std::vector<std::shared_ptr<const SampleSource>> parts) {
    auto first = parts.front();
    std::erase_if(parts, [](const auto& part) { return part->size() == 0; });
    if (parts.size() < 2) return parts.empty() ? first : parts.front();
    return std::make_shared<SampleChain>(std::move(parts));
}

}  // namespace switchyard::data
