// RUN/model: what a run leaves for others, a folder that transformers loads as model and tokenizer. With
// [lora] adapters are merged into it, and RUN/adapter has them alone, for PEFT.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/base/atomic_file.h"
#include "core/workbench/data/tokenizers/tokenizer.h"
#include "core/workbench/model/weights/load_weights.h"
#include "core/workbench/train/evaluate.h"
#include "core/workbench/train/run_directory.h"
#include "core/workbench/train/session.h"

namespace switchyard::cli {

// Whether a tokenizer is a vocab.txt and nothing else.
bool is_vocabulary_alone(const std::vector<data::TokenizerFile>& files);

// An encoder begins and ends no text; its config.json names neither.
model::SpecialTokens special_tokens(const train::Session& session);

// For transformers, which cut no molecules.
std::vector<data::TokenizerFile> tokenizer_files(const train::Session& session);

// Into the folder of a run. A vocab.txt alone lies beside the configuration, other files in a folder of their
// own. Throws Failure.
void write_tokenizer(const data::Tokenizer& tokenizer, const train::RunDirectory& run);

// Makes the folder: weights, config.json, the files of the tokenizer, of a regression the scale of its
// numbers, and README.md, a model card with the scores of `eval`, the last evaluation; with adapters also
// their folder. `all`: all parameters, where the session has a part of them; nullptr: it has them.
base::FileError export_model(train::Session& session, const train::RunDirectory& run,
                             const train::EvalResult& eval, const model::Parameters* all);

}  // namespace switchyard::cli
