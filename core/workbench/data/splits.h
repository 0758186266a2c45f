// What readers of all tasks share: rows of the files that [data] names, dealt out to training and evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <switchyard/interfaces/data_loader.h>
#include "core/kernel/config/data_config.h"
#include "core/workbench/data/held_rows.h"
#include "core/workbench/data/label_scale.h"
#include "core/workbench/data/rows.h"

namespace switchyard::data {

// How many rows of the files became what; what `rows` of summary.json says.
struct RowCounts {
    std::int64_t read = 0;
    std::int64_t used = 0;
    std::int64_t truncated = 0;     // used, but cut to the maximal length
    std::int64_t split = 0;         // used, but as several samples
    std::int64_t skipped = 0;       // empty, malformed, or of another label, where [data] says to skip them
    std::int64_t empty = 0;         // of these: without any text
    std::int64_t invalid_utf8 = 0;  // of these
    std::int64_t with_nul = 0;      // used or not: a NUL byte is in them
};

// A row that was skipped for what is wrong with it.
struct SkippedRow {
    std::string file;
    RowPlace place;
    std::string message;
    bool eval = false;
};
constexpr std::size_t most_listed_rows = 100'000;

// What came of one [[data.source]].
struct SourceCounts {
    std::string name;
    double weight = 1.0;
    RowCounts rows;            // those for training
    std::int64_t samples = 0;  // that it has
    std::int64_t drawn = 0;    // that an epoch has of it
};

// Samples to learn from and to evaluate on.
struct Splits {
    std::shared_ptr<const SampleSource> train, eval;
    RowCounts train_rows, eval_rows;
    std::vector<SourceCounts> sources;  // of [[data.source]], in order
    std::vector<SkippedRow> skipped;    // the first most_listed_rows
    LabelScale scale;                   // of a regression's labels
    std::int64_t also_in_train = 0;     // rows of data.eval with the text of a row of data.train
    // Each with file and line, and other rows where the same is wrong; then "and N more". With one, nothing
    // is to be used.
    std::vector<std::string> problems;
    std::vector<std::string> warnings;  // what is most likely not meant, though it can be used
};

// What a reader made of a row.
struct RowUse {
    bool used = true;
    bool truncated = false;
    std::string fault;  // why it cannot be used, put after the row's place; empty: it has no text
    config::BadRow rule = config::BadRow::error;  // what becomes of it then
    std::size_t value = 0, byte = 0;              // of the fault: in which of the row's values, and where
    bool split = false;
};

// Of a row whose value `value`, `text`, cannot be used; where the text is no UTF-8, the fault is there.
RowUse unusable_text(std::string fault, const std::string& text, config::BadRow rule, std::size_t value);
// Of a row that would be cut where data.on_long allows no cutting.
RowUse too_long(std::int64_t max_length, std::size_t value);

// What a reader makes of a row: a RowUse, or one that it says once it has the tokens of texts of the row.
struct RowWork {
    using Tokens = std::function<RowUse(TokenLists)>;

    RowWork(RowUse use) : use(std::move(use)) {}  // NOLINT: what is made of it without tokens
    // `texts`: parts of the row's values.
    RowWork(std::vector<std::string_view> texts, Tokens take)
        : texts(std::move(texts)), take(std::move(take)) {}

    RowUse use;
    std::vector<std::string_view> texts;
    Tokens take;  // empty: `use` is what is made of it
};

struct SplitRequest {
    const config::DataConfig& data;
    std::vector<std::string> columns;  // of each row
    std::size_t key = 0;               // the column of the text, which decides on the split
    bool parallel =
        false;  // rows are lines of a file of data.train and of data.target_train, and have these two columns
    bool documents = false;     // rows are texts as data.documents has them
    bool label = false;         // the first column is data.label_column
    bool stores_aside = false;  // token stores among the files are passed over: someone else reads them
    const Tokenizer* tokenizer = nullptr;  // of texts of which tokens are asked for
};

// For all texts of a job, whatever its task: data.text_column, those of `more` that are not empty, and the
// lines of data.target_train.
SplitRequest text_request(const config::DataConfig& data, const std::vector<std::string>& more);

// Where a row comes from and goes to.
struct RowWay {
    const std::string& path;
    std::size_t source = 0;  // the number of its [[data.source]]
    bool eval = false;
    const std::vector<std::string>& columns;  // in which its values stand: those of its source
};

// Where [data] names the texts to learn from and those to evaluate on, for messages.
const char* train_key(const config::DataConfig& data);  // "data.train" or "data.source"
const char* eval_key(const config::DataConfig& data);   // "data.eval" or "data.train, held out"

// Those of [[data.source]], or data.train as the only one.
std::vector<config::SourceConfig> sources_of(const config::DataConfig& data);

// Rows of training files whose key the hash holds out go to evaluation, unless there are `eval` files. Adds
// what it counts and finds wrong to `splits`. Texts of many rows are tokenized together, on all cores; what
// is made of rows stays in their order.
void read_splits(const SplitRequest& request, const std::function<RowWork(const RowWay& way, Row& row)>& use,
                 Splits& splits);

// After reading: samples of each source to train on, in order, which are drawn by weight (mixture.h), and all
// to evaluate on. Says so where no sample came out.
void set_samples(const config::DataConfig& data, std::uint64_t seed,
                 std::vector<std::shared_ptr<const SampleSource>> train,
                 std::shared_ptr<const SampleSource> eval, Splits& splits);

}  // namespace switchyard::data
