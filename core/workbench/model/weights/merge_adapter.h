// The weights of a Hugging Face folder with a PEFT adapter added: each weight that the adapter changes
// becomes weight + alpha / rank B A (an embedding's table: its transpose), computed in float32 and rounded to
// the weight's dtype; what was trained whole takes its place. It works on the tensors of the files, whatever
// model they are of.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace switchyard::model {

struct MergeResult {
    std::vector<std::string> merged;  // weights that adapters were added to
    std::vector<std::string> whole;   // tensors that took the place of the base's, or are new
};

// It was told to stop.
struct MergeStopped {};

// Writes `folder`/model.safetensors and `folder`/config.json, and copies the tokenizer's files of the
// adapter, else of the run, else of the base. `folder` is made and must be empty. `base`: empty means what
// the adapter names. `run_model`: the folder `model` of the run that trained the adapter, which says what the
// outputs of a classifier or a regression mean; empty: there is none, and labels that the base does not have
// are LABEL_0 and so on. Throws base::InputError: for files that cannot be read, an adapter that is not of
// this base, and what read_adapter_config refuses; std::runtime_error for files that cannot be written;
// MergeStopped where `stop` says so, which is asked between tensors and files. Then `folder` is as it was.
MergeResult merge_adapter(const std::string& adapter, const std::string& base, const std::string& folder,
                          const std::string& run_model = "", const std::function<bool()>& stop = {});

}  // namespace switchyard::model
