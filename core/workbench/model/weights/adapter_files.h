// Adapters in the files of Hugging Face's PEFT: adapter_config.json and adapter_model.safetensors (peft,
// tuners/lora/config.py and utils/save_and_load.py).
//
// Of a linear layer that transformers calls M there are base_model.model.M.lora_A.weight [rank, in] and
// base_model.model.M.lora_B.weight [out, rank]; what is trained whole is base_model.model.NAME, after
// transformers' names. Where several of our layers are one of theirs (GPT-2's c_attn is q, k and v), theirs
// has the ranks of all: A one below the other, B in blocks, its own rank and alpha in rank_pattern and
// alpha_pattern. Where one of ours is two of theirs (Llama's gate_proj and up_proj), both have the same A.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/config/config.h"
#include "core/workbench/model/parameters.h"

namespace switchyard::model {

// Writes the adapters of `parameters`, and what is trained beside them, into `folder`; makes the folder.
// `base`: the model that they belong to, a folder or a name on the Hub. `trained`: names of parameters.
base::FileError save_adapter(const std::string& folder, const config::Config& config,
                             const Parameters& parameters, const std::vector<std::string>& trained,
                             const std::string& base);

// Sets adapters and what the files have of parameters in lora.trained. What is wrong, each naming the file,
// what was expected and what came; then no parameter was changed. Throws InputError where a file cannot be
// read.
std::vector<std::string> load_adapter(const std::string& folder, const config::Config& config,
                                      const Parameters& parameters);

}  // namespace switchyard::model
