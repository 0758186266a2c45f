// What a Hugging Face folder or a GGUF file holds, for `switchyard model`: sizes, tensors by type, tokenizer,
// and what of it is not understood.
#pragma once

#include <string>

#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {

// Returns an exit code; throws Failure where it is no readable file or folder of weights. A model that is not
// computed here is told, and no failure.
int show_stored_model(const std::string& path, const JobOptions& options, const JsonOption& json);

}  // namespace switchyard::cli
