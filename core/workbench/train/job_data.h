// What a job's [data] becomes: tokenizer, samples, and how a data loader takes them. Needs no model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <switchyard/interfaces/data_loader.h>
#include "core/kernel/base/input_error.h"
#include "core/kernel/config/config.h"
#include "core/workbench/data/pair_samples.h"
#include "core/workbench/data/splits.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::train {

// Something that the user gave cannot be used: every line is one problem with its place.
class InputError : public base::InputError {
public:
    explicit InputError(const std::vector<std::string>& problems);
};

// All throw InputError with all problems, those of keys with the place where they are written.
std::shared_ptr<const data::Tokenizer> open_tokenizer(const config::Config& config);
data::Splits read_data(const config::Config& config, const std::shared_ptr<const data::Tokenizer>& tokenizer);

// Files to evaluate on, in place of all that [data] names.
struct EvalFiles {
    std::vector<std::string> files;
    std::vector<std::string> targets;  // of a seq2seq: files with a line for each line of `files`
};
// All their rows, or as many as an override of data.max_rows says, read as the configuration says of
// data.eval. `scale`: of a regression's labels, as they were learnt.
data::Splits read_eval_files(const config::Config& config,
                             const std::shared_ptr<const data::Tokenizer>& tokenizer, const EvalFiles& files,
                             const data::LabelScale& scale);
// `problems` of other readers of [data].
void throw_problems(const config::Config& config, std::vector<std::string> problems);
// Of a seq2seq of texts: the texts of these files, those that it is evaluated on, in the same order.
std::vector<data::TextPair> read_eval_pairs(const config::Config& config, const data::Tokenizer& tokenizer,
                                            const EvalFiles& files);

// `pad`: of the tokenizer. Batches to train on are shuffled as data_loader.shuffle says.
LoaderParams loader_params(const config::Config& config, std::int64_t pad, bool training);

}  // namespace switchyard::train
