#include "core/workbench/infer/generate.h"

#include <algorithm>
#include <map>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "core/workbench/data/tokenizers/open_tokenizer.h"
#include "core/workbench/infer/growing_text.h"
#include "core/workbench/infer/logits/finite_logits.h"
#include "core/workbench/infer/sample_rows.h"
#include "core/workbench/infer/stop_texts.h"
#include "core/workbench/infer/whole_rows.h"

namespace switchyard::infer {
namespace {

bool answers(const config::Config& config) { return config.task.kind == config::TaskKind::seq2seq; }

// Those that mean nothing in a text, unless they are to end it, and what the model has logits of beyond the
// tokenizer.
Forbidden forbidden_of(const data::Tokenizer& tokenizer, const Ids& stop_tokens) {
    const auto& special = tokenizer.specials();
    Forbidden forbidden{{}, tokenizer.size()};
    for (const auto id : {special.pad, special.bos, special.unk, special.mask}) {
        const bool ends = id == special.eos || std::ranges::count(stop_tokens, id) > 0;
        if (id >= 0 && !ends) forbidden.tokens.push_back(id);
    }
    return forbidden;
}

// The rows of a request that gave such logits; of several sources it is not known which.
std::vector<Beginning> rows_with(const GenerationRequest& request, const Ids& tokens) {
    std::vector<Beginning> rows;
    for (const auto& prompt : request.prompts) {
        const auto& grown = prompt.grown;
        if (grown.size() <= tokens.size() && std::equal(grown.begin(), grown.end(), tokens.begin()))
            rows.push_back({prompt.source, tokens});
    }
    return rows;
}

// Cached rows that let the precision policy keep what it makes of the weights.
class SteppedRows final : public GrowingRows {
public:
    SteppedRows(const config::Config& config, const model::BoundPlan& plan, const model::Model& model,
                const model::CacheLimits& limits)
        : plan_(plan), rows_(config, model, limits, decoding_graphs(config, plan)) {
        plan_.precision().begin_step();
    }
    ~SteppedRows() override { plan_.precision().end_step(); }

    at::Tensor begin(const std::vector<Beginning>& rows) override { return rows_.begin(rows); }
    at::Tensor append(const std::vector<Ids>& tokens) override { return rows_.append(tokens); }
    void select(const std::vector<std::int64_t>& rows) override { rows_.select(rows); }
    void take_back(const std::vector<std::int64_t>& counts) override { rows_.take_back(counts); }

private:
    const model::BoundPlan& plan_;
    CachedRows rows_;
};

}  // namespace

// The texts of a request while they come.
class Generator::Texts {
public:
    Texts(const Generator& generator, const std::vector<std::string>& prompts)
        : generator_(generator), prompts_(prompts), stops_(generator.options_.stop_texts) {}

    // Asked after each token, by whatever chooses tokens.
    bool ended(std::size_t prompt, std::size_t sample, const Ids& ids) {
        // Beams are no texts that grow: each is looked at anew.
        if (generator_.options_.beams > 0) {
            auto text = begun(prompt);
            text.update(ids);
            return stops_.find(text.text(), text.begin_of_new()).has_value();
        }
        auto& one = of(prompt, sample);
        one.text.update(ids);
        const auto stop = stops_.find(one.text.text(), one.text.begin_of_new());
        if (!stop) tell(one);
        return stop.has_value();
    }

    GeneratedText finished(std::size_t prompt, std::size_t sample, const Generated& generated) {
        auto& one = of(prompt, sample);
        one.text.update(generated.ids);
        auto text = one.text.text();
        if (const auto stop = stops_.find(text, one.text.begin_of_new())) text.resize(*stop);
        const auto& piece = generator_.hooks_.piece;
        if (piece) piece(text.substr(told_of(one, text)), true);
        growing_.erase({prompt, sample});
        return {std::move(text), static_cast<std::int64_t>(generated.ids.size()), generated.end,
                generated.score};
    }

private:
    struct One {
        GrowingText text;
        std::string told;  // in pieces
    };

    GrowingText begun(std::size_t prompt) const {
        return answers(generator_.config_) ? GrowingText(generator_.tokenizer_)
                                           : GrowingText(generator_.tokenizer_, prompts_[prompt]);
    }

    One& of(std::size_t prompt, std::size_t sample) {
        const auto found = growing_.find({prompt, sample});
        if (found != growing_.end()) return found->second;
        return growing_.emplace(std::pair(prompt, sample), One{begun(prompt), ""}).first->second;
    }

    // A decoder that writes otherwise what was told already cannot have it back: the rest follows.
    static std::size_t told_of(const One& one, const std::string& text) {
        return std::min(one.told.size(), text.size());
    }

    void tell(One& one) const {
        const auto& piece = generator_.hooks_.piece;
        if (!piece) return;
        const auto& text = one.text.text();
        const auto end = std::min(whole_characters(text), stops_.safe_end(text, one.text.begin_of_new()));
        const auto begin = told_of(one, text);
        if (end <= begin) return;
        piece(text.substr(begin, end - begin), false);
        one.told = text.substr(0, end);
    }

    const Generator& generator_;
    const std::vector<std::string>& prompts_;
    StopTexts stops_;
    std::map<std::pair<std::size_t, std::size_t>, One> growing_;
};

std::string model_problem(const config::Config& config, const data::Tokenizer& tokenizer) {
    const auto kind = config.task.kind;
    if (kind != config::TaskKind::causal_lm && kind != config::TaskKind::seq2seq)
        return "task.kind: a model trained for " + std::string(name(kind)) +
               " cannot generate text; expected causal_lm or seq2seq";
    if (config.batch.min_length > 1)
        return "batch.min_length: is " + std::to_string(config.batch.min_length) +
               ", but writing begins with one token; expected 1 (--set batch.min_length=1)";
    return data::missing_special(tokenizer, kind, "the tokenizer");
}

std::string prompt_problem(const config::Config& config, const data::Tokenizer& tokenizer,
                           const std::string& prompt) {
    if (auto fault = tokenizer.problem_in(prompt); !fault.empty()) return "the prompt " + fault;
    const auto beginning = beginning_of(config, tokenizer, prompt);
    if (beginning.grown.empty())
        return "the tokenizer has no token that begins a text; expected a prompt (--prompt)";
    const auto length = static_cast<std::int64_t>(std::max(beginning.source.size(), beginning.grown.size()));
    if (length > config.batch.max_length)
        return "the prompt has " + std::to_string(length) + " tokens; expected at most batch.max_length, " +
               std::to_string(config.batch.max_length);
    return "";
}

std::string empty_prompt_note(const config::Config& config) {
    return answers(config)
               ? "the encoder reads nothing but the token that ends a text"
               : "the text begins with the token that begins texts, and nothing else is known of it";
}

Beginning beginning_of(const config::Config& config, const data::Tokenizer& tokenizer,
                       const std::string& prompt) {
    const auto& special = tokenizer.specials();
    auto ids = tokenizer.encode(prompt);
    if (answers(config)) {
        ids.push_back(special.eos);
        return {std::move(ids), {special.pad}};
    }
    if (special.bos >= 0) ids.insert(ids.begin(), special.bos);
    return {{}, std::move(ids)};
}

std::unique_ptr<GrowingRows> make_rows(const config::Config& config, const model::BoundPlan& plan,
                                       const model::Model& model, const data::Tokenizer& tokenizer,
                                       const RowsOptions& options) {
    const auto has = [&](Phase phase) { return std::ranges::count(config.run.phases, phase) > 0; };
    if (options.cached && options.ranks == nullptr && has(Phase::prefill) && has(Phase::decode))
        return std::make_unique<SteppedRows>(config, plan, model, options.limits);
    return std::make_unique<WholeRows>(config, plan, model, tokenizer.filling(), options.ranks);
}

Generator::Generator(const config::Config& config, const data::Tokenizer& tokenizer, GrowingRows& rows,
                     GenerateOptions options, GenerateHooks hooks)
    : config_(config),
      tokenizer_(tokenizer),
      rows_(rows),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      chooser_(options_.sampling, forbidden_of(tokenizer, options_.stop_tokens)) {}

GenerationRequest Generator::request_of(const std::vector<std::string>& prompts) const {
    GenerationRequest request;
    for (const auto& prompt : prompts) request.prompts.push_back(beginning_of(config_, tokenizer_, prompt));
    request.samples = options_.samples;
    request.batch = hooks_.piece ? 1 : config_.batch.size;
    request.max_tokens = options_.max_tokens;
    request.max_length = config_.batch.max_length;
    request.seed = options_.seed;
    request.eos = tokenizer_.specials().eos;
    request.stop_tokens = options_.stop_tokens;
    return request;
}

GeneratedSamples Generator::choose(const GenerationRequest& request, const GenerationHooks& hooks) {
    if (options_.beams > 0)
        return beam_search(rows_, chooser_,
                           {options_.beams, options_.length_penalty, options_.early_stopping}, request, hooks,
                           speed_);
    if (draft_ != nullptr) return speculate(rows_, *draft_, chooser_, request, hooks, speed_, speculation_);
    return sample_rows(rows_, chooser_, request, hooks, speed_);
}

std::vector<std::vector<GeneratedText>> Generator::generate(const std::vector<std::string>& prompts) {
    return generate(prompts, 0, options_.samples);
}

std::vector<std::vector<GeneratedText>> Generator::generate(const std::vector<std::string>& prompts,
                                                            std::int64_t first, std::int64_t count) {
    const at::NoGradGuard no_grad;
    auto request = request_of(prompts);
    request.first_sample = first;
    request.samples = count;
    Texts texts(*this, prompts);
    GenerationHooks hooks;
    hooks.interrupted = hooks_.interrupted;
    if (hooks_.piece || !options_.stop_texts.empty())
        hooks.ended = [&](std::size_t prompt, std::size_t sample, const Ids& ids) {
            return texts.ended(prompt, sample, ids);
        };
    GeneratedSamples chosen;
    try {
        chosen = choose(request, hooks);
    } catch (NonfiniteLogits& error) {
        error.rows = rows_with(request, error.tokens());
        throw;
    }
    std::vector<std::vector<GeneratedText>> all;
    for (std::size_t prompt = 0; prompt < chosen.size(); ++prompt) {
        auto& samples = all.emplace_back();
        for (std::size_t sample = 0; sample < chosen[prompt].size(); ++sample)
            samples.push_back(texts.finished(prompt, sample, chosen[prompt][sample]));
    }
    return all;
}

std::string continued(const data::Tokenizer& tokenizer, const std::string& prompt, const Ids& ids) {
    GrowingText text(tokenizer, prompt);
    text.update(ids);
    return text.text();
}

}  // namespace switchyard::infer
