// Span corruption against the figure of Raffel et al. 2020 and its own counts; pairs of texts. To add a case:
// write the cut tokens as a text of 0 and 1.
#include "core/workbench/data/span_samples.h"
#include "core/workbench/data/language_data.h"
#include "core/workbench/data/pair_samples.h"
#include "core/workbench/data/tokenizers/byte_tokenizer.h"

#include <fstream>
#include <map>

#include "shared_data.h"

using namespace switchyard;
using Ids = std::vector<std::int64_t>;

namespace {

std::vector<bool> cut(const std::string& marks) {
    std::vector<bool> result;
    for (const char mark : marks) result.push_back(mark == '1');
    return result;
}

std::string write(const std::string& folder, const std::string& name, const std::string& text) {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
    return folder + "/" + name;
}

}  // namespace

TEST_CASE("spans are cut out as in the paper's figure") {
    // Figure 2: Thank you [for inviting] me to your party [last] week, words numbered from 1, sentinels from
    // 99 down.
    const Ids text{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const auto corrupted = data::cut_spans(text, cut("0011000010"), 99);
    CHECK(corrupted.source == Ids{1, 2, 99, 5, 6, 7, 8, 98, 10});
    CHECK(corrupted.target == Ids{99, 3, 4, 98, 9, 97});
    CHECK(data::cut_spans({1, 2, 3}, cut("011"), 50).source == Ids{1, 50});
    CHECK(data::cut_spans({1, 2, 3}, cut("011"), 50).target == Ids{50, 2, 3, 49});
}

TEST_CASE("how many tokens and spans are cut out follows from the length") {
    const data::SpanRule rule;
    const auto counts = [&](std::int64_t length) {
        const auto c = data::count_spans(length, rule);
        return std::pair(c.tokens, c.spans);
    };
    using Counts = std::pair<std::int64_t, std::int64_t>;
    CHECK(counts(512) == Counts{77, 26});
    CHECK(counts(100) == Counts{15, 5});
    CHECK(counts(2) == Counts{1, 1});
    CHECK(counts(1) == Counts{0, 0});
    // T5's own numbers: 568 tokens make 512 of source with eos and 114 of target with the last sentinel,
    // which T5 leaves out, and eos.
    CHECK(data::longest_span_text(512, rule) == 568);
    CHECK(counts(568) == Counts{85, 28});
}

TEST_CASE("spans have the counts, do not touch, and each way to cut is as likely") {
    const data::SpanRule rule;
    std::map<std::vector<bool>, int> seen;
    for (std::int64_t i = 0; i < 6000; ++i) {
        data::SplitMix64 random(3, i, 0);
        ++seen[data::draw_spans(6, {3, 2}, random)];
        const auto marks = data::draw_spans(200, data::count_spans(200, rule), random);
        std::int64_t tokens = 0, spans = 0;
        for (std::size_t t = 0; t < marks.size(); ++t) {
            tokens += marks[t] ? 1 : 0;
            spans += marks[t] && !marks[t - 1] ? 1 : 0;
        }
        CHECK_FALSE(marks[0]);
        CHECK(tokens == 30);
        CHECK(spans == 10);
    }
    // 3 tokens in 2 spans: 2 ways; 3 other tokens before, between and, perhaps none, after: 3 ways.
    CHECK(seen.size() == 6);
    for (const auto& [marks, count] : seen) CHECK(std::abs(count - 1000) < 180);  // 6 standard deviations
}

TEST_CASE("a corrupted sample holds the text, fits its length, and differs by epoch") {
    const auto folder = test::temporary_dir("spans").string();
    config::DataConfig job;
    std::string text;
    for (int i = 0; i < 50; ++i) text += "text " + std::to_string(i * i * i) + " of a document\n";
    job.train = job.eval = {write(folder, "a.txt", text)};
    job.blocks = config::Blocks::fixed;
    const auto tokenizer = std::make_shared<data::ByteTokenizer>();
    const data::LanguageSettings settings{data::LanguageTask::spans, 64, 280, 9};
    const auto splits = data::read_language_data(job, settings, tokenizer);
    REQUIRE(splits.problems.empty());
    const auto first = splits.train->get(0, 0);
    CHECK(first.ids.size() <= 64);
    CHECK(first.target_ids.size() <= 64);
    CHECK(first.ids.back() == 2);
    CHECK(first.labels.back() == 2);
    CHECK(first.target_ids.front() == 0);
    CHECK(Ids(first.target_ids.begin() + 1, first.target_ids.end()) ==
          Ids(first.labels.begin(), first.labels.end() - 1));
    CHECK(splits.train->length(0) == static_cast<std::int64_t>(first.ids.size() + first.labels.size()));
    CHECK(first.ids != splits.train->get(0, 1).ids);
    CHECK(first.ids == splits.train->get(0, 0).ids);

    // Put the spans back where their sentinels are: all texts, each with eos.
    std::string back;
    for (std::int64_t i = 0; i < splits.train->size(); ++i) {
        const auto sample = splits.train->get(i, 4);
        std::map<std::int64_t, Ids> spans;
        std::int64_t sentinel = 0;
        for (const auto id : sample.labels) {
            if (id > 260)
                sentinel = id;
            else
                spans[sentinel].push_back(id);
        }
        Ids whole;
        for (std::size_t t = 0; t + 1 < sample.ids.size(); ++t) {
            const auto id = sample.ids[t];
            if (id <= 260)
                whole.push_back(id);
            else
                whole.insert(whole.end(), spans[id].begin(), spans[id].end());
        }
        for (const auto id : whole) back += id == 2 ? '\n' : static_cast<char>(id - 5);
    }
    CHECK(back == text);

    const auto small = data::read_language_data(job, {data::LanguageTask::spans, 64, 262, 9}, tokenizer);
    REQUIRE(small.problems.size() == 1);
    CHECK(small.problems[0] ==
          "model.vocab_size: is 262, but the tokenizer has 261 words and the spans of 70 tokens need 5 "
          "sentinels behind them; expected at least 266");
}

TEST_CASE("pairs of lines become source, target and labels") {
    const auto folder = test::temporary_dir("pairs").string();
    config::DataConfig job;
    job.train = job.eval = {write(folder, "a.en", "a dog\ncat\n\n")};
    job.target_train = job.target_eval = {write(folder, "a.de", "ein Hund\nKatze\nx\n")};
    const data::ByteTokenizer tokenizer;
    const auto splits = data::read_pairs(job, 8, tokenizer);
    REQUIRE(splits.problems.empty());
    REQUIRE(splits.train->size() == 2);
    const auto with_eos = [&](const std::string& text) {
        auto ids = tokenizer.encode(text);
        ids.push_back(2);
        return ids;
    };
    const auto cats = splits.train->get(1, 0);
    CHECK(cats.ids == with_eos("cat"));
    CHECK(cats.labels == with_eos("Katze"));
    CHECK(cats.target_ids == [&] {
        auto ids = tokenizer.encode("Katze");
        ids.insert(ids.begin(), 0);
        return ids;
    }());
    CHECK(splits.train->get(0, 0).labels == with_eos("ein Hun"));  // cut to 8
    CHECK(splits.train_rows.truncated == 1);
    CHECK(splits.train_rows.skipped == 1);  // an empty line is no text
    CHECK(splits.train->length(1) == 4 + 6);
}

TEST_CASE("pairs of columns are read, and files that do not belong together are refused") {
    const auto folder = test::temporary_dir("pairs").string();
    config::DataConfig job;
    job.text_column = "en";
    job.target_column = "de";
    job.train = job.eval = {write(folder, "a.tsv", "de\ten\nKatze\tcat\n")};
    const data::ByteTokenizer tokenizer;
    CHECK(data::read_pairs(job, 9, tokenizer).train->get(0, 0).ids ==
          data::read_pairs(job, 9, tokenizer).eval->get(0, 0).ids);
    CHECK(data::read_pairs(job, 9, tokenizer).train->get(0, 0).labels.size() == 6);
    job.target_column.clear();
    CHECK(data::read_pairs(job, 9, tokenizer).problems ==
          std::vector<std::string>{"data.target_train: expected one file for each of data.train, 1; got 0",
                                   "data.target_eval: expected one file for each of data.eval, 1; got 0"});
    job.train = {write(folder, "b.en", "a\nb\n")};
    job.target_train = {write(folder, "b.de", "a\nb\nc\n")};
    job.eval.clear();
    CHECK(data::read_pairs(job, 9, tokenizer).problems.front() ==
          "data.train: " + folder + "/b.de: has 3 lines, but " + folder +
              "/b.en has 2; expected a line for each line");
}

TEST_CASE("English-German pairs of the shared data are read whole") {
    const auto en = test::shared_data("multi30k/val.en"), de = test::shared_data("multi30k/val.de");
    if (en.empty() || de.empty()) return test::skip(test::no_shared_data("multi30k"));
    config::DataConfig job;
    job.train = job.eval = {en};
    job.target_train = job.target_eval = {de};
    const auto splits = data::read_pairs(job, 512, data::ByteTokenizer());
    REQUIRE(splits.problems.empty());
    CHECK(splits.train->size() == 1014);
    CHECK(splits.train_rows.truncated == 0);
}
