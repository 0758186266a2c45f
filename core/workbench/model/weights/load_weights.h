// A model's parameters from a Hugging Face folder (model.safetensors with config.json), a single safetensors
// file or a GGUF file, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/config/config.h"
#include "core/workbench/model/parameters.h"

namespace switchyard::model {

struct LoadedWeights {
    std::vector<std::string>
        problems;  // all that is wrong, each naming file, tensor, both shapes; then no parameter was changed
    std::vector<std::string>
        fresh;  // parameters of heads that the file does not have: they keep their initial values
    std::vector<std::string> unused;  // tensors of the file that this model has no place for
    std::string file;
    std::vector<std::string> notes{};  // of the config.json beside it
    std::string index_note{};          // IndexDifferences::note of weights in several files
};

// Values are converted to the parameters' dtype and device. Adapters that a file does not have keep their
// initial values. A parameter that is missing is an error unless it
// belongs to a head (pooler, classifier, masked_lm, next_sentence, causal_lm, seq2seq), as it does when a
// pretrained model is given a new task.
LoadedWeights load_weights(const std::string& path, const config::Config& config, Parameters& parameters);

// Parameters whose values are not those of the file in their dtype, or which it does not have; of low rank
// none is named. Throws base::InputError where the file cannot be read or is one of another model.
std::vector<std::string> names_unlike(const std::string& path, const config::Config& config,
                                      const Parameters& parameters);

// Numbers of special tokens, for config.json.
struct SpecialTokens {
    std::int64_t pad = 0;
    std::optional<std::int64_t> bos, eos;
};

// Writes `folder`/model.safetensors and `folder`/config.json such that transformers reads them and computes
// the same; makes the folder. A model that transformers does not have is written under our names
// (huggingface_family.h).
base::FileError save_weights(const std::string& folder, const config::Config& config,
                             const Parameters& parameters, const SpecialTokens& tokens = {});

}  // namespace switchyard::model
