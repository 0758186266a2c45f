// Labelled texts, tokenized in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/workbench/data/splits.h"
#include "core/workbench/data/token_store.h"
#include "core/workbench/data/tokenizer.h"

namespace switchyard::data {

class ClassificationData final : public SampleSource {
public:
    void add(const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& token_type_ids,
             std::int64_t label);

    std::int64_t size() const override { return texts_.size(); }
    std::int64_t length(std::int64_t index) const override { return texts_.length(index); }
    Sample get(std::int64_t index, std::int64_t epoch) const override;

private:
    TokenStore texts_;
    std::vector<std::uint8_t> segments_;  // empty, or one for each token of texts_
    std::vector<std::int32_t> labels_;
};

// `labels`: names of the classes in the order of their numbers; a label column may also hold the numbers
// themselves.
Splits read_classification(const config::DataConfig& data, const std::vector<std::string>& labels,
                           std::int64_t max_length, const Tokenizer& tokenizer);

}  // namespace switchyard::data
