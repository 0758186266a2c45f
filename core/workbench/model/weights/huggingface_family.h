// Which of transformers' models computes what a configured model computes: whose names and config.json its
// weights are saved under.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/kernel/config/config.h"

namespace switchyard::model {

// t5 and t5_gated (version 1.1) differ in their feed-forward's tensors.  own: no model of transformers is
// that one (a GPT-2 with ALiBi, a windowed BERT); it is saved under our names with the model_type
// "switchyard", which transformers refuses instead of computing something else.
enum class Family : std::uint8_t { bert, roberta, distilbert, gpt2, llama, t5, t5_gated, own };

// Of the model alone.
Family family_of(const config::ModelConfig& model);
// Of all its layers, with the rules of [[layer]] applied, and of its task's head.
Family family_of(const config::Config& config);

// What config.json calls it: "bert", "roberta", "distilbert", "gpt2", "llama", "t5" (both), "switchyard".
std::string_view model_type_of(Family family);

// transformers' name of an activation in that family; empty where it has none.
std::string_view huggingface_activation(Family family, ActivationKind activation);

}  // namespace switchyard::model
