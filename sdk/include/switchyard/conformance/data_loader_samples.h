// Samples whose numbers say which sample, place and epoch they are of.
#pragma once

#include <switchyard/conformance/data_loader_run.h>

namespace switchyard::conformance {

class CountedSamples final : public SampleSource {
public:
    explicit CountedSamples(const LoaderSpec& spec) : spec_(spec) {}

    std::int64_t size() const override { return spec_.size; }
    std::int64_t length(std::int64_t index) const override;
    std::int64_t target_length(std::int64_t index) const override;
    Sample get(std::int64_t index, std::int64_t epoch) const override;

private:
    std::int64_t source_length(std::int64_t index) const;

    LoaderSpec spec_;
};

}  // namespace switchyard::conformance
