#include "core/workbench/data/next_sentences.h"

#include <algorithm>
#include <string_view>

namespace switchyard::data {

std::int64_t NextSentences::add(const std::vector<std::vector<std::int64_t>>& sentences) {
    std::int64_t cut = 0;
    const auto begin = sentences_.size();
    for (const auto& sentence : sentences) sentences_.add(sentence);
    document_ends_.push_back(sentences_.size());
    for (auto first = begin; first + 1 < sentences_.size(); ++first) {
        firsts_.push_back(first);
        const auto kept = lengths_of(first);
        const auto whole = sentences_.length(first) + sentences_.length(first + 1);
        cut += static_cast<std::int64_t>(kept.first + kept.second) < whole ? 1 : 0;
    }
    return cut;
}

// The longer of the two is cut first.
NextSentences::Lengths NextSentences::lengths_of(std::int64_t first) const {
    auto a = static_cast<std::size_t>(sentences_.length(first));
    auto b = static_cast<std::size_t>(sentences_.length(first + 1));
    const auto room = static_cast<std::size_t>(std::max<std::int64_t>(max_length_ - 3, 2));
    if (max_length_ <= 0 || a + b <= room) return {a, b};
    const auto half = room / 2;
    if (a <= half) return {a, room - a};
    if (b <= room - half) return {room - b, b};
    return {half, room - half};
}

std::int64_t NextSentences::length(std::int64_t index) const {
    const auto lengths = lengths_of(firsts_.at(static_cast<std::size_t>(index)));
    return static_cast<std::int64_t>(lengths.first + lengths.second + 3);
}

std::int64_t NextSentences::document_of(std::int64_t sentence) const {
    return std::upper_bound(document_ends_.begin(), document_ends_.end(), sentence) - document_ends_.begin();
}

std::vector<std::int64_t> NextSentences::elsewhere(std::int64_t document, std::size_t length,
                                                   SplitMix64& random) const {
    auto drawn = random.below(documents() - 1);
    if (drawn >= document) ++drawn;
    const auto begin = drawn == 0 ? 0 : document_ends_[static_cast<std::size_t>(drawn - 1)];
    const auto end = document_ends_[static_cast<std::size_t>(drawn)];
    std::vector<std::int64_t> tokens;
    for (auto sentence = begin + random.below(end - begin); tokens.size() < length;
         sentence = sentence + 1 == end ? begin : sentence + 1) {
        const auto text = sentences_.text(sentence);
        tokens.insert(tokens.end(), text.begin(), text.end());
    }
    tokens.resize(length);
    return tokens;
}

Sample NextSentences::get(std::int64_t index, std::int64_t epoch) const {
    const auto first = firsts_.at(static_cast<std::size_t>(index));
    const auto lengths = lengths_of(first);
    SplitMix64 random(seed_, index, epoch);
    const bool follows = random.share() < 0.5;
    const auto a = sentences_.text(first).first(lengths.first);
    std::vector<std::int64_t> b;
    if (follows) {
        const auto next = sentences_.text(first + 1).first(lengths.second);
        b.assign(next.begin(), next.end());
    } else {
        b = elsewhere(document_of(first), lengths.second, random);
    }
    Sample sample;
    sample.ids = {marks_.begin};
    sample.ids.insert(sample.ids.end(), a.begin(), a.end());
    sample.ids.push_back(marks_.end);
    sample.token_type_ids.assign(sample.ids.size(), 0);
    sample.ids.insert(sample.ids.end(), b.begin(), b.end());
    sample.ids.push_back(marks_.end);
    sample.token_type_ids.resize(sample.ids.size(), 1);
    sample.labels = {follows ? 0 : 1};
    return sample;
}

namespace {

// What `data.eval` or a share of `data.train` gives no second document of.
void require_documents(const config::DataConfig& data, const NextSentences& samples, bool eval,
                       Splits& splits) {
    if (samples.size() == 0 || samples.documents() > 1) return;
    const bool own = eval && !data.eval.empty();
    splits.problems.push_back(std::string(own    ? "data.eval: "
                                          : eval ? "data.eval_fraction: "
                                                 : "data.train: ") +
                              "one document alone has no other to draw sentences from; expected two or more" +
                              (eval && !own ? " to be held out" : ""));
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    return lines;
}

// Those of a document.
RowUse add(const config::Config& config, const TokenLists& sentences, NextSentences& samples) {
    if (sentences.empty()) return {false, false, "", {}};
    if (sentences.size() == 1)
        return {false, false,
                "the document has one sentence, and none follows it; a sentence is a line, and "
                "data.documents says what a document is",
                config.data.bad_row};
    const auto cut = samples.add(sentences);
    if (cut > 0 && config.data.on_long == config::LongText::error)
        return too_long(config.batch.max_length, 0);
    return {true, cut > 0, "", {}};
}

}  // namespace

Splits read_next_sentences(const config::Config& config, const Tokenizer& tokenizer) {
    const auto& data = config.data;
    const auto& special = tokenizer.specials();
    const auto seed = static_cast<std::uint64_t>(config.run.seed);
    const NextSentences::Marks marks{special.bos, special.eos};
    std::vector<std::shared_ptr<NextSentences>> train;  // of each source
    for (std::size_t i = 0; i < sources_of(data).size(); ++i)
        train.push_back(std::make_shared<NextSentences>(marks, config.batch.max_length, seed + i));
    const auto eval = std::make_shared<NextSentences>(marks, config.batch.max_length, ~seed);
    Splits splits;
    SplitRequest request{data, {data.text_column}};
    request.documents = true;
    request.tokenizer = &tokenizer;
    read_splits(
        request,
        [&](const RowWay& way, const Row& row) -> RowWork {
            if (auto fault = tokenizer.problem_in(row.values[0]); !fault.empty())
                return unusable_text(std::move(fault), row.values[0], data.bad_row, 0);
            return {lines_of(row.values[0]),
                    [&, to = way.eval ? eval : train[way.source]](TokenLists sentences) {
                        std::erase_if(sentences, [](const auto& ids) { return ids.empty(); });
                        return add(config, sentences, *to);
                    }};
        },
        splits);
    set_samples(data, seed, {train.begin(), train.end()}, eval, splits);
    if (splits.problems.empty()) {
        for (const auto& source : train) require_documents(data, *source, false, splits);
        require_documents(data, *eval, true, splits);
    }
    return splits;
}

}  // namespace switchyard::data
