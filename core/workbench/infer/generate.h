// Text from a trained language model, a token at a time: each step runs the whole sequence through the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/workbench/data/tokenizers/tokenizer.h"
#include "core/workbench/infer/choose_token.h"
#include "core/workbench/model/bound_plan.h"
#include "core/workbench/model/model.h"

namespace switchyard::infer {

struct GenerateOptions {
    Sampling sampling;
    std::int64_t samples = 1;     // of each prompt
    std::int64_t max_tokens = 0;  // new ones of each sample; 0: as many as batch.max_length leaves room for
    std::uint64_t seed = 0;
};

struct Generated {
    std::vector<std::int64_t> ids;  // new ones, without eos
    bool ended = false;             // by eos; else by max_tokens or batch.max_length
};

// Why the configured model cannot write; empty: it can.
std::string model_problem(const config::Config& config, const data::Tokenizer& tokenizer);
// Why such a model cannot write after this prompt; empty: it can.
std::string prompt_problem(const config::Config& config, const data::Tokenizer& tokenizer,
                           const std::string& prompt);

// What a model of words goes on with after `prompt` (causal_lm), or answers it with (seq2seq). Sample i draws
// from `seed` and i alone, whatever stands beside it in a batch, but for what rounding does to logits. Only
// tokens of the tokenizer come out, and of the special ones only eos. Uses the plan's phase eval, in batches
// of batch.size.
std::vector<Generated> generate(const config::Config& config, const model::BoundPlan& plan,
                                const model::Model& model, const data::Tokenizer& tokenizer,
                                const std::string& prompt, const GenerateOptions& options);

// The prompt as it was given, and what new tokens make of it. All are decoded as one text, since tokenizers
// write a token otherwise where a text begins with it. Where they write the prompt itself otherwise once
// tokens stand behind it ("it '" and "it's"), it is as they write it; so is white space at its end.
std::string continued(const data::Tokenizer& tokenizer, const std::string& prompt,
                      const std::vector<std::int64_t>& ids);

}  // namespace switchyard::infer
