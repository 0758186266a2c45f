// Labelled texts, tokenized in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <switchyard/config/data_config.h>
#include <switchyard/data/wordpiece.h>
#include <switchyard/interfaces/data_loader.h>

namespace switchyard::data {

// How many rows of the files became what; what `rows` of summary.json says.
struct RowCounts {
    std::int64_t read = 0;
    std::int64_t used = 0;
    std::int64_t truncated = 0;  // used, but cut to the maximal length
    std::int64_t skipped = 0;    // malformed, or of another label, where [data] says to skip them
};

class ClassificationData final : public SampleSource {
public:
    void add(std::vector<std::int64_t> ids, std::vector<std::int64_t> segments, std::int64_t label);

    std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
    std::int64_t length(std::int64_t index) const override;
    Sample get(std::int64_t index, std::int64_t epoch = 0) const override;

private:
    // All samples end to end: a million short vectors would cost more than their contents.
    std::vector<std::int32_t> ids_;
    std::vector<std::uint8_t> segments_;  // empty, or as long as ids_
    std::vector<std::int64_t> ends_;
    std::vector<std::int32_t> labels_;
};

struct ClassificationSplits {
    std::shared_ptr<ClassificationData> train, eval;
    RowCounts train_rows, eval_rows;
    std::vector<std::string> problems;  // each with file and line; then nothing is to be used
};

// `labels`: names of the classes in the order of their numbers; a label column may also hold the numbers themselves. Rows of `train` files that the hash holds out
// go to `eval`, unless there are `eval` files.
ClassificationSplits read_classification(const config::DataConfig& data,
                                         const std::vector<std::string>& labels, std::int64_t max_length,
                                         const WordPiece& tokenizer);

}  // namespace switchyard::data
