// Labelled texts, tokenized in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/data/label_columns.h"
#include "core/workbench/data/splits.h"
#include "core/workbench/data/token_store.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

// What is wrong with a text, so that it cannot be used; empty: nothing. A molecule may have tokens that are
// not in the vocabulary.
std::string text_problem(std::string_view text, const config::DataConfig& data, const Tokenizer& tokenizer);

class LabelledTexts final : public SampleSource {
public:
    void add(const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& token_type_ids,
             const RowLabels& labels);

    std::int64_t size() const override { return texts_.size(); }
    std::int64_t length(std::int64_t index) const override { return texts_.length(index); }
    Sample get(std::int64_t index, std::int64_t epoch) const override;

    // Of all samples, one after the other; empty of a task of classes.
    const std::vector<double>& values() const { return values_; }
    void set_scale(LabelScale scale) { scale_ = std::move(scale); }

private:
    TokenStore texts_;
    std::vector<std::uint8_t> segments_;  // empty, or one for each token of texts_
    std::vector<std::int32_t> labels_;
    std::vector<double> values_;
    LabelScale scale_;
};

// Texts with what label_columns.h says of the task. Numbers of a regression are scaled by those of the
// training texts, or by `known` where it is given, if task.standardize says so.
Splits read_labelled_texts(const config::Config& config, const Tokenizer& tokenizer,
                           const LabelScale& known = {});

}  // namespace switchyard::data
