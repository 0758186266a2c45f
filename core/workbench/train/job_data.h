// What a job's [data] becomes: tokenizer, samples, and how a data loader takes them. Needs no model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <switchyard/interfaces/data_loader.h>
#include "core/kernel/base/input_error.h"
#include "core/kernel/config/config.h"
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
// `problems` of other readers of [data].
void throw_problems(const config::Config& config, std::vector<std::string> problems);

// `pad`: of the tokenizer. Batches to train on are shuffled as data_loader.shuffle says.
LoaderParams loader_params(const config::Config& config, std::int64_t pad, bool training);

}  // namespace switchyard::train
