#include "core/workbench/data/labelled_tokens.h"

#include <charconv>
#include <memory>
#include <string_view>

#include "core/kernel/base/printable.h"
#include "core/workbench/data/labels.h"
#include "core/workbench/data/word_tokens.h"

namespace switchyard::data {
namespace {

constexpr std::int64_t no_label = -100;

std::vector<std::string_view> columns_of(std::string_view line) {
    std::vector<std::string_view> columns;
    for (std::size_t begin = 0; (begin = line.find_first_not_of(" \t\r", begin)) != std::string_view::npos;) {
        const auto end = std::min(line.find_first_of(" \t\r", begin), line.size());
        columns.push_back(line.substr(begin, end - begin));
        begin = end;
    }
    return columns;
}

// "#3" is 3; otherwise `usual`.
std::size_t place_of(const std::string& column, const std::string& left_as, std::size_t usual,
                     std::string& fault) {
    std::size_t place = usual;
    const char* const end = column.data() + column.size();
    if (column.starts_with('#') && std::from_chars(column.data() + 1, end, place).ptr == end &&
        column.size() > 1)
        return place;
    if (column != left_as)
        fault = "columns of words have numbers, \"#0\" is the first; got '" + base::quoted(column) + "'";
    return usual;
}

// One sentence's words and labels, line by line.
class SentenceReader {
public:
    SentenceReader(const config::Config& config, const Tokenizer& tokenizer)
        : config_(config), tokenizer_(tokenizer), words_(tokenizer) {}

    LabelledTokens read(const std::string& sentence) {
        std::string_view rest = sentence;
        while (made_.fault.empty() && !rest.empty()) {
            const auto end = rest.find('\n');
            sentence_ = sentence.data();
            line_ = rest.substr(0, end);
            line(columns_of(line_));
            rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
        }
        if (!labels_.empty()) finish();
        return std::move(made_);
    }

private:
    void line(const std::vector<std::string_view>& columns) {
        if (columns.empty() || columns[0] == "-DOCSTART-") return;
        const auto& data = config_.data;
        if (width_ == 0) width_ = columns.size();
        if (columns.size() != width_ || width_ < 2)
            return fail("has " + std::to_string(columns.size()) + " columns, expected " +
                            (width_ < 2 ? "a word and its label"
                                        : std::to_string(width_) + " as the first of the sentence"),
                        data.bad_row, line_);
        std::string fault;
        const auto word = place_of(data.text_column, "text", 0, fault);
        const auto label = place_of(data.label_column, "label", width_ - 1, fault);
        if (fault.empty() && std::max(word, label) >= width_)
            fault = "has " + std::to_string(width_) + " columns, the last is \"#" +
                    std::to_string(width_ - 1) + "\"";
        if (!fault.empty()) return fail(fault, data.bad_row, line_);
        fault = tokenizer_.problem_in(columns[word]);
        if (!fault.empty()) return fail(fault, data.bad_row, columns[word]);
        const std::string name(columns[label]);
        const auto number = label_number(config_.task.labels, name);
        if (!number) return fail(unknown_label(config_.task.labels, name), data.other_label, columns[label]);
        add(columns[word], *number);
    }

    void add(std::string_view word, std::int64_t label) {
        if (auto fault = words_.add(word); !fault.empty())
            return fail(std::move(fault), config_.data.bad_row, word);
        labels_.push_back(label);
    }

    void finish() {
        auto framed = std::move(words_).framed(config_.batch.max_length);
        made_.ids = std::move(framed.ids);
        made_.cut = framed.cut;
        made_.labels.assign(made_.ids.size(), no_label);
        for (std::size_t i = 0; i < labels_.size(); ++i)
            if (framed.places[i] >= 0) made_.labels[static_cast<std::size_t>(framed.places[i])] = labels_[i];
    }

    // `part` of the sentence is where it is.
    void fail(std::string fault, config::BadRow rule, std::string_view part) {
        made_.fault = std::move(fault);
        made_.rule = rule;
        made_.byte = static_cast<std::size_t>(part.data() - sentence_);
    }

    const config::Config& config_;
    const Tokenizer& tokenizer_;
    LabelledTokens made_;
    const char* sentence_ = nullptr;
    std::string_view line_;  // of the sentence
    std::size_t width_ = 0;
    WordTokens words_;
    std::vector<std::int64_t> labels_;  // of each word
};

}  // namespace

LabelledTokens labelled_tokens(const config::Config& config, const Tokenizer& tokenizer,
                               const std::string& sentence) {
    return SentenceReader(config, tokenizer).read(sentence);
}

void LabelledSentences::add(const LabelledTokens& tokens) {
    texts_.add(tokens.ids);
    labels_.add(tokens.labels);
}

Sample LabelledSentences::get(std::int64_t index, std::int64_t) const {
    const auto ids = texts_.text(index), labels = labels_.text(index);
    Sample sample;
    sample.ids.assign(ids.begin(), ids.end());
    sample.labels.assign(labels.begin(), labels.end());
    return sample;
}

Splits read_labelled_tokens(const config::Config& config, const Tokenizer& tokenizer) {
    std::vector<std::shared_ptr<LabelledSentences>> train;  // of each source
    for (std::size_t i = sources_of(config.data).size(); i > 0; --i)
        train.push_back(std::make_shared<LabelledSentences>());
    const auto eval = std::make_shared<LabelledSentences>();
    Splits splits;
    auto data = config.data;
    data.documents = config::Documents::paragraphs;
    SplitRequest request{data, {"text"}};
    request.documents = true;
    read_splits(
        request,
        [&](const RowWay& way, const Row& row) {
            auto tokens = labelled_tokens(config, tokenizer, row.values[0]);
            if (!tokens.fault.empty())
                return RowUse{false, false, std::move(tokens.fault), tokens.rule, 0, tokens.byte};
            if (tokens.ids.empty()) return RowUse{false, false, "", {}};
            if (tokens.cut && data.on_long == config::LongText::error)
                return too_long(config.batch.max_length, 0);
            (way.eval ? eval : train[way.source])->add(tokens);
            return RowUse{true, tokens.cut, "", {}};
        },
        splits);
    set_samples(data, static_cast<std::uint64_t>(config.run.seed), {train.begin(), train.end()}, eval,
                splits);
    return splits;
}

}  // namespace switchyard::data
