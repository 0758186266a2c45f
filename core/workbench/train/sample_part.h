// Neighbouring samples of a source as a source of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <switchyard/interfaces/data_loader.h>

namespace switchyard::train {

class SamplePart final : public SampleSource {
public:
    // The part of that number, of so many that are as large as can be alike.
    SamplePart(std::shared_ptr<const SampleSource> all, std::int64_t number, std::int64_t parts)
        : all_(std::move(all)),
          begin_(all_->size() * number / parts),
          end_(all_->size() * (number + 1) / parts) {}

    std::int64_t first() const { return begin_; }
    std::int64_t size() const override { return end_ - begin_; }
    std::int64_t length(std::int64_t index) const override { return all_->length(begin_ + index); }
    std::int64_t target_length(std::int64_t index) const override {
        return all_->target_length(begin_ + index);
    }
    Sample get(std::int64_t index, std::int64_t epoch) const override {
        return all_->get(begin_ + index, epoch);
    }

private:
    std::shared_ptr<const SampleSource> all_;
    std::int64_t begin_, end_;
};

}  // namespace switchyard::train
