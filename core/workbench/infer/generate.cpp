#include "core/workbench/infer/generate.h"

#include <algorithm>
#include <limits>

#include <ATen/core/grad_mode.h>

#include <switchyard/reference/collate.h>
#include "core/workbench/data/splitmix64.h"
#include "core/workbench/data/tokenizers/open_tokenizer.h"

namespace switchyard::infer {
namespace {

using Ids = std::vector<std::int64_t>;

bool answers(const config::Config& config) { return config.task.kind == config::TaskKind::seq2seq; }

// What a sample begins with, and what it answers.
struct Beginning {
    Ids source;  // of the encoder; empty where there is none
    Ids grown;   // what new tokens are put after
};

Beginning begin(const config::Config& config, const data::Tokenizer& tokenizer, const std::string& prompt) {
    const auto& special = tokenizer.specials();
    auto ids = tokenizer.encode(prompt);
    if (answers(config)) {
        ids.push_back(special.eos);
        return {std::move(ids), {special.pad}};
    }
    if (special.bos >= 0) ids.insert(ids.begin(), special.bos);
    return {{}, std::move(ids)};
}

struct Growing {
    std::int64_t index;
    Ids ids;
    data::SplitMix64 random;
};

class Writer {
public:
    Writer(const config::Config& config, const model::Model& model, const data::Tokenizer& tokenizer,
           const GenerateOptions& options)
        : config_(config), model_(model), tokenizer_(tokenizer), options_(options) {
        context_.phase = Phase::eval;
        params_.max_length = config.batch.max_length;
        params_.pad_id = tokenizer.filling();
        params_.pad_multiple = config.batch.pad_multiple;
        params_.layout = config.batch.planned_layout();
    }

    std::vector<Generated> write(const Beginning& beginning) {
        const auto room = config_.batch.max_length - static_cast<std::int64_t>(beginning.grown.size()) + 1;
        const auto limit = options_.max_tokens > 0 ? std::min(options_.max_tokens, room) : room;
        std::vector<Generated> results(static_cast<std::size_t>(options_.samples));
        for (std::int64_t first = 0; first < options_.samples; first += config_.batch.size) {
            std::vector<Growing> growing;
            const auto last = std::min(first + config_.batch.size, options_.samples);
            for (auto i = first; i < last; ++i)
                growing.push_back({i, beginning.grown, data::SplitMix64(options_.seed, i, 0)});
            for (std::int64_t step = 0; step < limit && !growing.empty(); ++step)
                grow(beginning.source, growing, results);
        }
        return results;
    }

private:
    // One more token for each, and those that have ended leave.
    void grow(const Ids& source, std::vector<Growing>& growing, std::vector<Generated>& results) const {
        const auto logits = last_logits(source, growing);
        std::vector<Growing> left;
        for (std::size_t i = 0; i < growing.size(); ++i) {
            auto& one = growing[i];
            auto& result = results[static_cast<std::size_t>(one.index)];
            const auto token = choose_token(logits[i], options_.sampling, one.random.share());
            result.ended = token == tokenizer_.specials().eos;
            if (result.ended) continue;
            result.ids.push_back(token);
            one.ids.push_back(token);
            left.push_back(std::move(one));
        }
        growing = std::move(left);
    }

    // Of the next token of each, those that may not come at -inf.
    std::vector<std::vector<double>> last_logits(const Ids& source,
                                                 const std::vector<Growing>& growing) const {
        std::vector<Sample> samples;
        Ids indices;
        for (const auto& one : growing) {
            samples.push_back(source.empty() ? Sample{one.ids, {}, {}, {}, {}}
                                             : Sample{source, {}, one.ids, {}, {}});
            indices.push_back(one.index);
        }
        const auto batch = reference::collate(samples, indices, params_, true);
        const auto all = model_.logits(context_, batch);
        const bool packed = params_.layout == Layout::packed;
        const auto width = model_.output_side(batch).ids.size(-1);
        std::vector<std::vector<double>> rows;
        std::int64_t end = 0;
        for (std::size_t i = 0; i < growing.size(); ++i) {
            const auto length = static_cast<std::int64_t>(growing[i].ids.size());
            end += length;
            const auto row = packed ? end - 1 : static_cast<std::int64_t>(i) * width + length - 1;
            rows.push_back(allowed(all[row].to(at::kCPU, at::kDouble).contiguous()));
        }
        return rows;
    }

    std::vector<double> allowed(const at::Tensor& logits) const {
        const auto* values = logits.const_data_ptr<double>();
        std::vector<double> row(values, values + std::min(logits.size(0), tokenizer_.size()));
        const auto& special = tokenizer_.specials();
        for (const auto id : {special.pad, special.bos, special.unk, special.mask}) {
            if (id >= 0 && id != special.eos)
                row[static_cast<std::size_t>(id)] = -std::numeric_limits<double>::infinity();
        }
        return row;
    }

    const config::Config& config_;
    const model::Model& model_;
    const data::Tokenizer& tokenizer_;
    const GenerateOptions& options_;
    model::ForwardContext context_;
    LoaderParams params_;
};

}  // namespace

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
    const auto beginning = begin(config, tokenizer, prompt);
    if (beginning.grown.empty())
        return "the tokenizer has no token that begins a text; expected a prompt (--prompt)";
    const auto length = static_cast<std::int64_t>(std::max(beginning.source.size(), beginning.grown.size()));
    if (length > config.batch.max_length)
        return "the prompt has " + std::to_string(length) + " tokens; expected at most batch.max_length, " +
               std::to_string(config.batch.max_length);
    return "";
}

std::vector<Generated> generate(const config::Config& config, const model::BoundPlan& plan,
                                const model::Model& model, const data::Tokenizer& tokenizer,
                                const std::string& prompt, const GenerateOptions& options) {
    const at::NoGradGuard no_grad;
    plan.precision().begin_step();
    auto results = Writer(config, model, tokenizer, options).write(begin(config, tokenizer, prompt));
    plan.precision().end_step();
    return results;
}

std::string continued(const data::Tokenizer& tokenizer, const std::string& prompt, const Ids& ids) {
    auto all = tokenizer.encode(prompt);
    const auto before = tokenizer.decode(all);
    all.insert(all.end(), ids.begin(), ids.end());
    auto whole = tokenizer.decode(all);
    if (ids.empty()) return prompt;
    if (!whole.starts_with(before)) return whole;
    const auto end = [](const std::string& text) { return text.find_last_not_of(" \t\r\n\v\f") + 1; };
    return prompt.substr(0, end(prompt)) + whole.substr(end(before));
}

}  // namespace switchyard::infer
