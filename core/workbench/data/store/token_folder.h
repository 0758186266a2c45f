// What `switchyard data prepare` makes of the texts of a job, and training reads in their place:
//
//     store.json    what the tokens are: of which tokenizer, by which keys of [data], of how many rows
//     train.tokens  texts to learn from (token_file.h)
//     eval.tokens   texts to evaluate on, unless there are none
//     vocab.txt     or other files of the tokenizer, unless it needs none
//
// store.json is written last: without it a folder is no store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/kernel/base/json_text.h"
#include "core/kernel/config/data_config.h"
#include "core/workbench/data/splits.h"
#include "core/workbench/data/store/token_file.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

struct TokenFolder {
    std::string path;
    std::shared_ptr<const TokenFile> train, eval;  // eval: nullptr where there is none
    RowCounts train_rows, eval_rows;
    std::int64_t also_in_train = 0;
    base::Json made_with;  // token_shape of the job that it was made for
};

bool is_token_folder(const std::string& path);

// Throws InputError for one that was altered or is not whole.
TokenFolder open_token_folder(const std::string& path);

// What decides on the tokens of a text and on which texts there are: the tokenizer, and keys of [data].
base::Json token_shape(const config::DataConfig& data, const Tokenizer& tokenizer);

// A line for each key by which this job would make other tokens: "data.documents: expected rows, with which
// ...".
std::vector<std::string> differences(const TokenFolder& folder, const config::DataConfig& data,
                                     const Tokenizer& tokenizer);

// The text of store.json.
std::string token_folder_text(const base::Json& shape, const Splits& counts, const TokenFileHeader& train,
                              const TokenFileHeader* eval);

}  // namespace switchyard::data
