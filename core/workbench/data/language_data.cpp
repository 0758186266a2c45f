#include "core/workbench/data/language_data.h"

#include <utility>

#include "core/workbench/data/masked_samples.h"
#include "core/workbench/data/span_samples.h"
#include "core/workbench/data/text_samples.h"

namespace switchyard::data {
namespace {

// One half of a split on its way from texts to samples.
class Half {
public:
    Half(const config::DataConfig& data, const LanguageSettings& settings,
         std::shared_ptr<const Tokenizer> tokenizer)
        : data_(data), settings_(settings), tokenizer_(std::move(tokenizer)) {
        rule_ = {data.span_share, data.span_length};
        longest_ = settings.task == LanguageTask::spans ? longest_span_text(settings.max_length, rule_)
                                                        : settings.max_length;
    }

    RowUse add(const std::string& text) {
        if (auto fault = tokenizer_->problem_in(text); !fault.empty())
            return {false, false, std::move(fault), data_.bad_row};
        auto ids = tokenizer_->encode(text);
        if (ids.empty()) return {false, false, "", {}};
        const auto& special = tokenizer_->specials();
        const bool masked = settings_.task == LanguageTask::masked;
        RowUse used;
        if (data_.blocks == config::Blocks::none) {
            const auto marks = masked ? 2 : settings_.task == LanguageTask::causal ? 1 : 0;
            const auto room = static_cast<std::size_t>(std::max<std::int64_t>(1, longest_ - marks));
            used.truncated = ids.size() > room;
            if (used.truncated) ids.resize(room);
        }
        if (settings_.task != LanguageTask::spans) ids.insert(ids.begin(), special.bos);
        const bool spans_in_blocks =
            settings_.task == LanguageTask::spans && data_.blocks != config::Blocks::none;
        if (masked || spans_in_blocks) ids.push_back(special.eos);
        texts_->add(ids);
        return used;
    }

    std::shared_ptr<const SampleSource> samples(std::uint64_t seed) const {
        const auto& special = tokenizer_->specials();
        const NextToken next{settings_.task == LanguageTask::causal, special.eos};
        std::shared_ptr<const SampleSource> texts;
        if (data_.blocks == config::Blocks::none)
            texts = std::make_shared<TextSamples>(texts_, next);
        else
            texts = std::make_shared<BlockSamples>(texts_, longest_,
                                                   data_.blocks == config::Blocks::packed_lm, next);
        if (settings_.task == LanguageTask::masked) {
            const Masking masking{data_.mask_share, data_.mask_token_share, data_.mask_random_share};
            return std::make_shared<MaskedSamples>(texts, *tokenizer_, masking, seed);
        }
        if (settings_.task == LanguageTask::causal) return texts;
        return std::make_shared<SpanSamples>(
            texts, rule_, SpanSamples::Numbers{special.pad, special.eos, settings_.vocab_size - 1}, seed);
    }

    // What makes these settings unusable, whatever the texts.
    std::string problem() const {
        if (settings_.task == LanguageTask::masked && tokenizer_->specials().mask < 0)
            return "data.vocabulary: has no mask token ([MASK]), which task.kind = \"masked_lm\" needs";
        if (settings_.task != LanguageTask::spans) return "";
        if (longest_ == 0)
            return "batch.max_length: spans cut out of a text do not fit into " +
                   std::to_string(settings_.max_length) + " tokens; expected more";
        const auto needed = count_spans(longest_, rule_).spans + 1;
        if (tokenizer_->size() + needed <= settings_.vocab_size) return "";
        return "model.vocab_size: is " + std::to_string(settings_.vocab_size) + ", but the tokenizer has " +
               std::to_string(tokenizer_->size()) + " words and the spans of " + std::to_string(longest_) +
               " tokens need " + std::to_string(needed) + " sentinels behind them; expected at least " +
               std::to_string(tokenizer_->size() + needed);
    }

private:
    const config::DataConfig& data_;
    const LanguageSettings& settings_;
    std::shared_ptr<const Tokenizer> tokenizer_;
    SpanRule rule_;
    std::int64_t longest_ = 0;
    std::shared_ptr<TokenStore> texts_ = std::make_shared<TokenStore>();
};

}  // namespace

Splits read_language_data(const config::DataConfig& data, const LanguageSettings& settings,
                          const std::shared_ptr<const Tokenizer>& tokenizer) {
    Half train(data, settings, tokenizer), eval(data, settings, tokenizer);
    Splits splits;
    if (auto problem = train.problem(); !problem.empty()) {
        splits.problems.push_back(std::move(problem));
        return splits;
    }
    SplitRequest request{data, {data.text_column}};
    request.documents = true;
    read_splits(
        request,
        [&](const std::string&, const Row& row, bool to_eval) {
            return (to_eval ? eval : train).add(row.values[0]);
        },
        splits);
    // Evaluation draws for itself: a text's place in its split says nothing of the other split.
    splits.train = train.samples(settings.seed);
    splits.eval = eval.samples(~settings.seed);
    require_samples(data, splits);
    return splits;
}

}  // namespace switchyard::data
