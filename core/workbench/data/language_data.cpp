#include "core/workbench/data/language_data.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/workbench/data/masked_samples.h"
#include "core/workbench/data/sample_chain.h"
#include "core/workbench/data/span_samples.h"
#include "core/workbench/data/store/token_folder.h"
#include "core/workbench/data/text_samples.h"
#include "core/workbench/data/token_store.h"
#include "core/workbench/data/tokenizers/open_tokenizer.h"

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

    RowWork add(const std::string& text) {
        if (auto fault = tokenizer_->problem_in(text); !fault.empty())
            return unusable_text(std::move(fault), text, data_.bad_row, 0);
        return {{text}, [this](TokenLists tokens) { return add(std::move(tokens.front())); }};
    }

    std::shared_ptr<const SampleSource> samples(std::uint64_t seed) const {
        const auto& special = tokenizer_->specials();
        const NextToken next{settings_.task == LanguageTask::causal, special.eos};
        std::shared_ptr<const SampleSource> texts;
        if (data_.blocks == config::Blocks::none)
            texts = std::make_shared<TextSamples>(
                texts_or_stored(), marks(),
                TextRoom{room_for_text(), data_.on_long == config::LongText::split}, next);
        else
            texts = std::make_shared<BlockSamples>(texts_or_stored(), marks(),
                                                   BlockSamples::Size{longest_, shortest_block()},
                                                   data_.blocks == config::Blocks::packed_lm, next);
        if (settings_.task == LanguageTask::masked) {
            const Masking masking{data_.mask_share, data_.mask_token_share, data_.mask_random_share,
                                  data_.mask_whole_words};
            return std::make_shared<MaskedSamples>(texts, *tokenizer_, masking, seed);
        }
        if (settings_.task == LanguageTask::causal) return texts;
        return std::make_shared<SpanSamples>(
            texts, rule_, SpanSamples::Numbers{special.pad, special.eos, settings_.vocab_size - 1}, seed);
    }

    // Texts of a token store instead, counted as add() counts.
    void take(std::shared_ptr<const TokenTexts> stored, RowCounts& rows, const std::string& path,
              std::vector<std::string>& problems) {
        stored_ = std::move(stored);
        const auto room = room_for_text();
        if (room == 0 || stored_->longest() <= room) return;
        for (std::int64_t text = 0; text < stored_->size(); ++text) {
            if (stored_->length(text) <= room) continue;
            if (data_.on_long == config::LongText::error) {
                problems.push_back(path + ": text " + std::to_string(text + 1) + ": " +
                                   too_long(settings_.max_length, 0).fault);
                return;
            }
            ++(data_.on_long == config::LongText::split ? rows.split : rows.truncated);
        }
    }

    // What makes these settings unusable, whatever the texts.
    std::string problem() const {
        const auto task = settings_.task == LanguageTask::masked   ? config::TaskKind::masked_lm
                          : settings_.task == LanguageTask::causal ? config::TaskKind::causal_lm
                                                                   : config::TaskKind::seq2seq;
        if (auto lack = missing_special(*tokenizer_, task, "the tokenizer"); !lack.empty())
            return "data.vocabulary: " + lack;
        if (settings_.task == LanguageTask::masked &&
            std::max(tokenizer_->before_text().size(), tokenizer_->behind_text().size()) > 1)
            return "data.vocabulary: the tokenizer puts several tokens before or behind a text; expected one "
                   "at "
                   "most";
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
    RowUse add(std::vector<std::int64_t> ids) {
        if (ids.empty()) return {false, false, "", {}};
        RowUse used;
        const auto room = static_cast<std::size_t>(room_for_text());
        if (room > 0 && ids.size() > room) {
            if (data_.on_long == config::LongText::error) return too_long(settings_.max_length, 0);
            used.split = data_.on_long == config::LongText::split;
            used.truncated = !used.split;
            if (used.truncated) ids.resize(room);
        }
        texts_->add(ids);
        return used;
    }

    static std::int64_t only(const std::vector<std::int64_t>& ids) { return ids.empty() ? -1 : ids.front(); }
    Marks marks() const {
        const auto& special = tokenizer_->specials();
        switch (settings_.task) {
            case LanguageTask::masked:
                return {only(tokenizer_->before_text()), only(tokenizer_->behind_text())};
            case LanguageTask::causal:
                return {special.bos, -1};
            default:
                return {-1, data_.blocks == config::Blocks::none ? -1 : special.eos};
        }
    }
    std::shared_ptr<const TokenTexts> texts_or_stored() const {
        if (stored_) return stored_;
        return texts_;
    }
    // Where spans are cut out, a sample has another length than its block.
    std::int64_t shortest_block() const {
        return settings_.task == LanguageTask::spans ? 1 : std::min(settings_.min_length, longest_);
    }
    // Tokens of a text in one sample; 0: any number, as blocks take them.
    std::int64_t room_for_text() const {
        if (data_.blocks != config::Blocks::none) return 0;
        return std::max<std::int64_t>(1, longest_ - marks().count());
    }

    const config::DataConfig& data_;
    const LanguageSettings& settings_;
    std::shared_ptr<const Tokenizer> tokenizer_;
    SpanRule rule_;
    std::int64_t longest_ = 0;
    std::shared_ptr<TokenStore> texts_ = std::make_shared<TokenStore>();
    std::shared_ptr<const TokenTexts> stored_;  // nullptr: texts_ are
};

}  // namespace

namespace {

// Token stores among the files, in place of texts.
class Stores {
public:
    Stores(const config::DataConfig& data, const Tokenizer& tokenizer, Splits& splits)
        : data_(data), tokenizer_(tokenizer), splits_(splits) {}

    // The store that `files` is; nullopt: there is none among them.
    std::optional<TokenFolder> open(const std::string& key, const std::vector<std::string>& files) {
        if (std::ranges::none_of(files, is_token_folder)) return std::nullopt;
        if (files.size() > 1) {
            splits_.problems.push_back(key +
                                       ": a token store stands beside other files; expected it alone, or a "
                                       "[[data.source]] for each");
            return std::nullopt;
        }
        try {
            auto folder = open_token_folder(files.front());
            auto problems = differences(folder, data_, tokenizer_);
            splits_.problems.insert(splits_.problems.end(), problems.begin(), problems.end());
            return folder;
        } catch (const base::InputError& error) {
            splits_.problems.push_back(key + ": " + error.what());
            return std::nullopt;
        }
    }

private:
    const config::DataConfig& data_;
    const Tokenizer& tokenizer_;
    Splits& splits_;
};

void add_rows(RowCounts& to, const RowCounts& rows) {
    to.read += rows.read;
    to.used += rows.used;
    to.truncated += rows.truncated;
    to.split += rows.split;
    to.skipped += rows.skipped;
    to.empty += rows.empty;
    to.invalid_utf8 += rows.invalid_utf8;
    to.with_nul += rows.with_nul;
}

// Samples of a split, those of its token stores too.
class LanguageReader {
public:
    LanguageReader(const config::DataConfig& data, const LanguageSettings& settings,
                   std::shared_ptr<const Tokenizer> tokenizer)
        : data_(data),
          settings_(settings),
          tokenizer_(std::move(tokenizer)),
          sources_(sources_of(data)),
          stores_(data, *tokenizer_, splits_) {
        for (std::size_t i = 0; i < sources_.size(); ++i) train_.emplace_back(data_, settings_, tokenizer_);
        eval_.emplace_back(data_, settings_, tokenizer_);
    }

    Splits read() {
        if (auto problem = eval_.front().problem(); !problem.empty()) {
            splits_.problems.push_back(std::move(problem));
            return std::move(splits_);
        }
        SplitRequest request{data_, {data_.text_column}};
        request.documents = request.stores_aside = true;
        request.tokenizer = tokenizer_.get();
        read_splits(
            request,
            [&](const RowWay& way, const Row& row) {
                return (way.eval ? eval_.front() : train_[way.source]).add(row.values[0]);
            },
            splits_);
        take_stores();
        // Each draws for itself: a text's place in its split says nothing of the other splits.
        std::vector<std::shared_ptr<const SampleSource>> train, eval;
        for (std::size_t i = 0; i < train_.size(); ++i)
            train.push_back(train_[i].samples(settings_.seed + i));
        for (std::size_t i = 0; i < eval_.size(); ++i) eval.push_back(eval_[i].samples(~settings_.seed - i));
        set_samples(data_, settings_.seed, std::move(train), chained(std::move(eval)), splits_);
        return std::move(splits_);
    }

private:
    void take_stores() {
        const std::string key = train_key(data_);
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            auto folder = stores_.open(key, sources_[i].files);
            if (!folder) continue;
            train_[i].take(folder->train, folder->train_rows, folder->path, splits_.problems);
            add_rows(splits_.train_rows, folder->train_rows);
            if (i < splits_.sources.size()) add_rows(splits_.sources[i].rows, folder->train_rows);
            if (data_.eval.empty()) take_evaluation(*folder);
        }
        if (auto folder = stores_.open("data.eval", data_.eval)) take_evaluation(*folder);
    }

    void take_evaluation(TokenFolder& folder) {
        if (!folder.eval) return;
        eval_.emplace_back(data_, settings_, tokenizer_);
        eval_.back().take(folder.eval, folder.eval_rows, folder.path, splits_.problems);
        add_rows(splits_.eval_rows, folder.eval_rows);
        splits_.also_in_train += folder.also_in_train;
    }

    const config::DataConfig& data_;
    const LanguageSettings& settings_;
    std::shared_ptr<const Tokenizer> tokenizer_;
    std::vector<config::SourceConfig> sources_;
    Splits splits_;
    Stores stores_;
    std::deque<Half> train_;  // of each source
    std::deque<Half> eval_;   // texts, then those of stores
};

}  // namespace

Splits read_language_data(const config::DataConfig& data, const LanguageSettings& settings,
                          const std::shared_ptr<const Tokenizer>& tokenizer) {
    return LanguageReader(data, settings, tokenizer).read();
}

}  // namespace switchyard::data
