// What RUN stands for where a command takes a trained model: the folder of a run, RUN, with the weights at
// its end; or one of its checkpoints, RUN@best, RUN@last and RUN@step-200. A folder whose own name has an @
// is that folder. A folder of Hugging Face's that no run left, and a GGUF file, stand for their model
// (model_folder.h).
#pragma once

#include <string>

#include "core/workbench/cli/job/job.h"

namespace switchyard::cli {

// The description of an argument that takes these names.
inline constexpr const char* named_run_help =
    "folder of a run, a checkpoint of it (RUN@best, RUN@last, RUN@step-200), a Hugging Face folder, or a "
    "GGUF "
    "file";

struct NamedRun {
    std::string folder;
    std::string weights;  // a folder of Hugging Face's, or the safetensors file of a checkpoint
    std::string note;     // what whoever named it need not know; "": nothing
    bool is_run = true;   // or a folder of Hugging Face's or a GGUF file
};

// Whether it is the name of a run, and not that of a file.
bool names_run(const std::string& name);

// Throws Failure where there is neither such a run nor such a folder, or the run has no such checkpoint: with
// those that it has.
NamedRun find_run(const std::string& name);

// The job of that run with its weights and its vocabulary, or the one that the folder describes, and what
// `given` sets after them.
JobOptions job_of_run(const NamedRun& run, const JobOptions& given);

}  // namespace switchyard::cli
