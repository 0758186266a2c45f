// Labelled texts, tokenized in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <switchyard/data/splits.h>
#include <switchyard/data/tokenizer.h>

namespace switchyard::data {

class ClassificationData final : public SampleSource {
public:
    void add(std::vector<std::int64_t> ids, std::vector<std::int64_t> segments, std::int64_t label);

    std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
    std::int64_t length(std::int64_t index) const override;
    Sample get(std::int64_t index, std::int64_t epoch) const override;

private:
    // All samples end to end: a million short vectors would cost more than their contents.
    std::vector<std::int32_t> ids_;
    std::vector<std::uint8_t> segments_;  // empty, or as long as ids_
    std::vector<std::int64_t> ends_;
    std::vector<std::int32_t> labels_;
};

// `labels`: names of the classes in the order of their numbers; a label column may also hold the numbers themselves.
Splits read_classification(const config::DataConfig& data, const std::vector<std::string>& labels,
                           std::int64_t max_length, const Tokenizer& tokenizer);

}  // namespace switchyard::data
