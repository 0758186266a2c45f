// Texts of many rows that are tokenized together: as one by one, in their order, each with its place.
#include <fstream>

#include "core/workbench/data/labelled_texts.h"
#include "core/workbench/data/language_data.h"
#include "core/workbench/data/next_sentences.h"
#include "core/workbench/data/pair_samples.h"
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"
#include "core/workbench/data/tokenizers/wordpiece.h"

#include <switchyard_test.h>

using namespace switchyard;
using Ids = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

namespace {

constexpr const char* vocabulary_of_pieces =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n##a\n##b\n##c\nlong\n##er\n0\n1\n2\n3\n##0\n##1\n##2\n##"
    "3\n";

std::shared_ptr<const data::Tokenizer> tokenizer_of_pieces() {
    return data::WordPiece::from_text(vocabulary_of_pieces, "v").tokenizer;
}

// Of very different lengths, now and then of nothing, in all more than is held at once.
Texts uneven_texts(int count) {
    Texts made;
    for (int i = 0; i < count; ++i) {
        std::string text = i % 97 == 5 ? " " : "abc " + std::to_string(i) + " ";
        for (int n = i * i % 1999; n > 0 && i % 97 != 5; --n) text += n % 3 == 0 ? "longer " : "cab ";
        made.push_back(std::move(text));
    }
    return made;
}

std::string written(const std::string& name, const std::string& text) {
    static const auto folder = test::temporary_dir("held_rows").string();
    const auto path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

}  // namespace

TEST_CASE("any number of threads gives the same tokens") {
    const auto pieces_of = tokenizer_of_pieces();
    const auto all = uneven_texts(1000);
    const std::vector<std::string_view> views(all.begin(), all.end());
    const auto one = pieces_of->encode_batch(views, 1);
    for (const std::size_t threads : {2, 3, 64}) CHECK(pieces_of->encode_batch(views, threads) == one);
    bool same = one.size() == all.size();
    for (std::size_t i = 0; i < all.size() && same; ++i) same = one[i] == pieces_of->encode(all[i]);
    CHECK(same);
}

TEST_CASE("readers give the samples of texts that are tokenized one by one, in their order") {
    const auto words = tokenizer_of_pieces();
    const auto all = uneven_texts(1500);
    std::string lines, table = "label\tfirst\tsecond\n", documents;
    for (std::size_t i = 0; i < all.size(); ++i) {
        lines += all[i] + "\n";
        table += (i % 3 == 0 ? "yes\t" : "no\t") + all[i] + "\tlong " + all[all.size() - 1 - i] + "\n";
        documents += all[i] + "\nlong b\n\n";
    }
    REQUIRE(lines.size() > std::size_t{5} << 20);
    config::Config config;
    config.batch.max_length = 24;
    auto& data = config.data;
    data.train = data.eval = {written("lines.txt", lines)};
    bool same = true;
    std::int64_t at = 0;

    config.task.kind = config::TaskKind::causal_lm;
    const auto language = data::read_language_data(data, {data::LanguageTask::causal, 24, 100, 1}, words);
    REQUIRE(language.problems.empty());
    for (const auto& text : all) {
        auto ids = words->encode(text);
        if (ids.empty()) continue;
        ids.resize(std::min<std::size_t>(ids.size(), 23));
        ids.insert(ids.begin(), words->specials().bos);
        same = same && language.train->get(at++, 0).ids == ids;
    }
    CHECK(same);
    CHECK(language.train->size() == at);
    CHECK(language.train_rows.empty == static_cast<std::int64_t>(all.size()) - at);

    config.task = {config::TaskKind::classification, {"no", "yes"}};
    data.train = data.eval = {written("table.tsv", table)};
    data.text_column = "first";
    for (const bool pairs : {false, true}) {
        data.pair_column = pairs ? "second" : "";
        const auto labelled = data::read_labelled_texts(config, *words);
        REQUIRE(labelled.problems.empty());
        at = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (!pairs && i % 97 == 5) continue;
            const auto sample = labelled.train->get(at++, 0);
            const auto ids = pairs ? words->encode_pair(all[i], "long " + all[all.size() - 1 - i], 24).ids
                                   : words->encode_with_specials(all[i], 24);
            same = same && sample.ids == ids && sample.labels == Ids{i % 3 == 0 ? 1 : 0};
        }
        CHECK(same);
        CHECK(labelled.train->size() == at);
    }

    data.target_column = "second";
    const auto pairs = data::read_pairs(data, 24, *words);
    REQUIRE(pairs.problems.empty());
    at = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i % 97 == 5) continue;
        auto ids = words->encode(all[i]);
        ids.resize(std::min<std::size_t>(ids.size(), 23));
        ids.push_back(words->specials().eos);
        same = same && pairs.train->get(at++, 0).ids == ids;
    }
    CHECK(same);
    CHECK(pairs.train->size() == at);

    config.task = {config::TaskKind::next_sentence, {}};
    data.documents = config::Documents::paragraphs;
    data.text_column = "text";
    data.train = data.eval = {written("documents.txt", documents)};
    data.bad_row = config::BadRow::skip;  // documents of one sentence
    const auto next = data::read_next_sentences(config, *words);
    REQUIRE(next.problems.empty());
    CHECK(next.train->size() == at);
    CHECK(next.train_rows.skipped == static_cast<std::int64_t>(all.size()) - at);
}

TEST_CASE("what is wrong with rows is told in their order, whether they were held or not") {
    const auto words = tokenizer_of_pieces();
    config::Config config;
    config.batch.max_length = 8;
    config.task = {config::TaskKind::classification, {"no", "yes"}};
    auto& data = config.data;
    data.tokenizer = config::TokenizerKind::wordpiece;
    data.on_long = config::LongText::error;
    data.train = {written("a.csv",
                          "label,text\nno,a\n\"yes\",\"a\nb c a b c a b c a\"\nmaybe,a\nno\nyes,a \xff\n"
                          "no,a b c a b c a b c a\nno,b\n"),
                  written("b.jsonl", "{\"text\": \"a a a a a a a a a\", \"label\": \"no\"}\n")};
    data.eval = {written("eval.csv", "label,text\nno,a a a a a a a a a a\n")};
    const auto splits = data::read_labelled_texts(config, *words);
    Texts told;
    for (const auto& problem : splits.problems) {
        const auto name = problem.rfind('/', problem.find(": ")) + 1;
        told.push_back(problem.substr(name, problem.find(' ', problem.find(": ") + 2) - name));
    }
    CHECK(told == Texts{"a.csv:3:8: the", "a.csv:5:1: label", "a.csv:6:3: the", "a.csv:7:7: is"});
    CHECK_THAT(splits.problems[0], test::contains("; the same in 3 more rows: " + data.train[0] + ":8:4, " +
                                                  data.train[1] + ":1:10, " + data.eval[0] + ":2:4"));
    data.on_long = config::LongText::truncate;
    data.bad_row = data.other_label = config::BadRow::skip;
    const auto skipped = data::read_labelled_texts(config, *words);
    REQUIRE(skipped.skipped.size() == 3);
    CHECK(to_string(skipped.skipped[0].place) == "5:1");
    CHECK(to_string(skipped.skipped[1].place) == "6:3");
    CHECK(to_string(skipped.skipped[2].place) == "7:7");
    CHECK(skipped.train_rows.used == 5);
    CHECK(skipped.train_rows.truncated == 3);
    CHECK(skipped.train_rows.invalid_utf8 == 1);
}

TEST_CASE("a word for which a tokenizer has no token is a fault of its row") {
    const auto words = data::read_tokenizer_json(
        R"({"model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"good": 0, "bad": 1}},
            "pre_tokenizer": {"type": "Whitespace"}})",
        "words.json");
    config::Config config;
    config.batch.max_length = 8;
    config.task = {config::TaskKind::classification, {"no", "yes"}};
    config.data.tokenizer = config::TokenizerKind::huggingface;
    config.data.train =
        config.data.eval = {written("words.csv", "label,text\nno,bad\nyes,very good\nyes,good good\n")};
    const auto refused = data::read_labelled_texts(config, *words);
    REQUIRE(refused.problems.size() == 1);
    CHECK_THAT(refused.problems[0],
               test::contains("words.csv:3:5: 'very' is not in the tokenizer's vocabulary"));
    config.data.bad_row = config::BadRow::skip;
    const auto skipped = data::read_labelled_texts(config, *words);
    CHECK(skipped.problems.empty());
    REQUIRE(skipped.train->size() == 2);
    CHECK(skipped.train->get(1, 0).ids == Ids{0, 0});
    CHECK(skipped.train_rows.skipped == 1);
}
