// A folder of Hugging Face's that no run left - config.json, weights, tokenizer -, or a GGUF file, where a
// command takes a trained model: the job that its files describe.
#pragma once

#include <string>

#include "core/workbench/cli/job/job.h"
#include "core/workbench/train/session.h"

namespace switchyard::cli {

// It has a config.json, and no config.toml, which a run has; or it is a GGUF file.
bool is_model_folder(const std::string& folder);

// Throws Failure where it is not understood.
config::TaskConfig task_of_folder(const std::string& folder);

// Model, task and labels of its config.json (a GGUF file's task is causal_lm); of a regression that a run
// left here also the scale of its numbers. All else is as by default, or as `given` sets it. Throws Failure
// where the task is not understood; nothing but config.json is read.
JobOptions job_of_folder(const std::string& folder, const JobOptions& given);

// The same for what needs no head: config.json may also name an encoder that has none, as BertModel.
JobOptions job_of_encoder(const std::string& folder, const JobOptions& given);

// Whether label_scale.json of a run lies in the folder: what the model answers is then standardized.
bool has_label_scale(const std::string& folder);

// Throws Failure where the weights that were loaded have no head for the task: what it begins with is drawn,
// and would answer by chance.
void require_head(const train::Session& session);

// Warns, on standard error, of tensors of the weights that were loaded for which the model has no place, and
// of an index that says another size than theirs.
void tell_unused(const train::Session& session);

}  // namespace switchyard::cli
