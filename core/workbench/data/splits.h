// What readers of all tasks share: rows of the files that [data] names, dealt out to training and evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <switchyard/interfaces/data_loader.h>
#include "core/kernel/config/data_config.h"
#include "core/workbench/data/label_scale.h"
#include "core/workbench/data/rows.h"

namespace switchyard::data {

// How many rows of the files became what; what `rows` of summary.json says.
struct RowCounts {
    std::int64_t read = 0;
    std::int64_t used = 0;
    std::int64_t truncated = 0;     // used, but cut to the maximal length
    std::int64_t skipped = 0;       // empty, malformed, or of another label, where [data] says to skip them
    std::int64_t empty = 0;         // of these: without any text
    std::int64_t invalid_utf8 = 0;  // of these
    std::int64_t with_nul = 0;      // used or not: a NUL byte is in them
};

// Samples to learn from and to evaluate on.
struct Splits {
    std::shared_ptr<const SampleSource> train, eval;
    RowCounts train_rows, eval_rows;
    LabelScale scale;                // of a regression's labels
    std::int64_t also_in_train = 0;  // rows of data.eval with the text of a row of data.train
    std::vector<std::string>
        problems;  // each with file and line, then "and N more"; then nothing is to be used
    std::vector<std::string> warnings;  // what is most likely not meant, though it can be used
};

// What a reader made of a row.
struct RowUse {
    bool used = true;
    bool truncated = false;
    std::string fault;  // why it cannot be used, put after the row's place; empty: it has no text
    config::BadRow rule = config::BadRow::error;  // what becomes of it then
    std::int64_t line = 0;                        // of the fault, from the row's first on
};

struct SplitRequest {
    const config::DataConfig& data;
    std::vector<std::string> columns;  // of each row
    std::size_t key = 0;               // the column whose text decides on the split
    bool parallel =
        false;  // rows are lines of a file of data.train and of data.target_train, and have these two columns
    bool documents = false;  // rows are texts as data.documents has them
};

// Rows of `train` files whose key the hash holds out go to `eval`, unless there are `eval` files. Adds what
// it counts and finds wrong to `splits`.
void read_splits(const SplitRequest& request,
                 const std::function<RowUse(const std::string& path, Row& row, bool eval)>& use,
                 Splits& splits);

// Says so where no sample came out.
void require_samples(const config::DataConfig& data, Splits& splits);

}  // namespace switchyard::data
