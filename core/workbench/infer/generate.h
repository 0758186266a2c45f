// Text from a trained language model: prompts in, texts out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/workbench/data/tokenizers/tokenizer.h"
#include "core/workbench/infer/beam_search.h"
#include "core/workbench/infer/cached_rows.h"
#include "core/workbench/infer/choose_token.h"
#include "core/workbench/infer/generated.h"
#include "core/workbench/infer/generation_speed.h"
#include "core/workbench/infer/growing_rows.h"
#include "core/workbench/infer/speculate.h"
#include "core/workbench/model/bound_plan.h"
#include "core/workbench/model/model.h"

namespace switchyard::infer {

struct GenerateOptions {
    Sampling sampling;
    std::int64_t samples = 1;     // of each prompt
    std::int64_t max_tokens = 0;  // new ones of each sample; 0: as many as batch.max_length leaves room for
    std::uint64_t seed = 0;
    std::int64_t beams = 0;  // 0: no beam search; else `samples` is at most that, and nothing is drawn
    double length_penalty = 1.0;
    bool early_stopping = false;
    std::vector<std::string> stop_texts;  // none empty; a text ends before the first of them
    Ids stop_tokens;
};

struct GeneratedText {
    std::string text;  // the prompt and what goes on with it (causal_lm), or the answer alone (seq2seq)
    std::int64_t tokens = 0;  // new ones
    End end = End::limit;
    double score = 0.0;  // of beams

    bool ended() const { return end == End::eos || end == End::stop; }
};

struct GenerateHooks {
    std::function<bool()> interrupted = {};  // looked at before each step
    // Gets each text piece by piece, one text after another, and in the end of each the rest of it. What a
    // piece holds is never taken back: no part of a character, and nothing that may become a stop text.
    std::function<void(const std::string& piece, bool last)> piece = {};
};

// Why the configured model cannot write; empty: it can.
std::string model_problem(const config::Config& config, const data::Tokenizer& tokenizer);
// Why such a model cannot write after this prompt; empty: it can.
std::string prompt_problem(const config::Config& config, const data::Tokenizer& tokenizer,
                           const std::string& prompt);
// What a model that can write after it makes of a prompt without a token.
std::string empty_prompt_note(const config::Config& config);
// What a row begins with for a prompt that has no problem.
Beginning beginning_of(const config::Config& config, const data::Tokenizer& tokenizer,
                       const std::string& prompt);

struct RowsOptions {
    bool cached = true;  // what was computed of earlier tokens is kept
    // What memory is taken for before a row begins; without rows for what begins, when it does.
    model::CacheLimits limits = CachedRows::no_limits;
    // That have a part of each layer, and begin and grow the same rows; only without a cache.
    model::TensorRanks* ranks = nullptr;
};

// Rows of the configured model. Without a cache, or where the plan has no phases prefill and decode, the
// whole sequence goes through the model for every token. What is given outlives them; weights must not change
// while they live. Throws base::InputError for a cache that the machine has no memory for.
std::unique_ptr<GrowingRows> make_rows(const config::Config& config, const model::BoundPlan& plan,
                                       const model::Model& model, const data::Tokenizer& tokenizer,
                                       const RowsOptions& options = {});

class Generator {
public:
    // What is given outlives it. Only tokens of the tokenizer come out, and of the special ones only eos.
    Generator(const config::Config& config, const data::Tokenizer& tokenizer, GrowingRows& rows,
              GenerateOptions options, GenerateHooks hooks = {});

    // Drafts with a smaller model from here on; not with beams. `draft` outlives it.
    void speculate_with(const Draft& draft) { draft_ = &draft; }

    // Texts by prompt, then by sample; the prompts have no problem. batch.size rows go through the model at a
    // time; one where pieces are asked for. Throws NonfiniteLogits, with the rows that gave them.
    std::vector<std::vector<GeneratedText>> generate(const std::vector<std::string>& prompts);
    // Only so many samples of each, from number `first` on; not with beams.
    std::vector<std::vector<GeneratedText>> generate(const std::vector<std::string>& prompts,
                                                     std::int64_t first, std::int64_t count);

    // Of all that was generated.
    const GenerationSpeed& speed() const { return speed_; }
    const Speculation& speculation() const { return speculation_; }

private:
    class Texts;

    GenerationRequest request_of(const std::vector<std::string>& prompts) const;
    GeneratedSamples choose(const GenerationRequest& request, const GenerationHooks& hooks);

    const config::Config& config_;
    const data::Tokenizer& tokenizer_;
    GrowingRows& rows_;
    GenerateOptions options_;
    GenerateHooks hooks_;
    TokenChooser chooser_;
    const Draft* draft_ = nullptr;
    GenerationSpeed speed_;
    Speculation speculation_;
};

// The prompt as it was given, and what new tokens make of it (GrowingText).
std::string continued(const data::Tokenizer& tokenizer, const std::string& prompt, const Ids& ids);

}  // namespace switchyard::infer
