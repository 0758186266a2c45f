// What a Hugging Face folder's model was trained for: its task and labels, as config.json says.
#pragma once

#include <string>

#include "core/kernel/config/task_config.h"

namespace switchyard::model {

struct HuggingFaceTask {
    // `kind`, and `labels`: in the order of their numbers; none of a regression whose only number has no name
    // of its own.
    config::TaskConfig task;
    std::string error;  // names the file, the key, what was expected; set if it is not understood
};

// Whether the class must have the head of a task, or may be an encoder alone: BertModel, RobertaModel or
// DistilBertModel, which then counts as one of masked_lm.
enum class Heads { expected, optional };

// Of the class in `architectures`, and where that is one for sequences by `problem_type`, or without it as
// transformers guess it: one output is a number, several are classes. `path`: of config.json.
HuggingFaceTask read_huggingface_task(const std::string& path, Heads heads = Heads::expected);

}  // namespace switchyard::model
