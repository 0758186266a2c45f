// Words with labels in columns. To add a case: a sentence and what must come of it.
#include "core/workbench/data/labelled_tokens.h"
#include "core/workbench/data/tokenizers/wordpiece.h"

#include <fstream>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

constexpr const char* pieces = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nin\nber\n##lin\n.\nanna\n";
using Numbers = std::vector<std::int64_t>;

config::Config job() {
    config::Config config;
    config.task.kind = config::TaskKind::token_classification;
    config.task.labels = {"O", "B-PER", "B-LOC", "I-LOC"};
    config.batch.max_length = 16;
    return config;
}

data::LabelledTokens read(const std::string& sentence, const config::Config& config = job()) {
    const auto tokenizer = data::WordPiece::from_text(pieces, "v").tokenizer;
    return data::labelled_tokens(config, *tokenizer, sentence);
}

}  // namespace

TEST_CASE("a word's label stands at its first piece") {
    const auto made = read("Anna NNP B-PER\nin IN O\nBerlin NNP B-LOC\n. . O");
    CHECK(made.fault.empty());
    CHECK(made.ids == Numbers{2, 8, 4, 5, 6, 7, 3});
    CHECK(made.labels == Numbers{-100, 1, 0, 2, -100, 0, -100});
    CHECK_FALSE(made.cut);
}

TEST_CASE("columns are apart by blanks or tabs, and chosen by their numbers") {
    CHECK(read("Anna\tB-PER\nin \t O\r").labels == Numbers{-100, 1, 0, -100});
    auto config = job();
    config.data.text_column = "#1";
    config.data.label_column = "#2";
    const auto made = read("1 Anna B-PER x\n2 in O y", config);
    CHECK(made.ids == Numbers{2, 8, 4, 3});
    CHECK(made.labels == Numbers{-100, 1, 0, -100});
}

TEST_CASE("a sentence is cut to the length with both marks") {
    auto config = job();
    config.batch.max_length = 4;
    const auto made = read("Anna B-PER\nin O\nBerlin B-LOC", config);
    CHECK(made.cut);
    CHECK(made.ids == Numbers{2, 8, 4, 3});
    CHECK(made.labels == Numbers{-100, 1, 0, -100});
}

TEST_CASE("what is wrong with a line is said with its place") {
    const auto fault = [](const std::string& sentence, const config::Config& config = job()) {
        const auto made = read(sentence, config);
        return std::to_string(made.byte) + ": " + made.fault;
    };
    CHECK(fault("Anna X B-PER\nin O") == "13: has 2 columns, expected 3 as the first of the sentence");
    CHECK(fault("Anna") == "0: has 1 columns, expected a word and its label");
    CHECK(fault("in O\nAnna B-ORG") ==
          "10: label 'B-ORG' is none of 'O', 'B-PER', 'B-LOC', 'I-LOC' (task.labels)");
    auto config = job();
    config.data.label_column = "#7";
    CHECK(fault("in O", config) == "0: has 2 columns, the last is \"#1\"");
    config.data.label_column = "ner";
    CHECK(fault("in O", config) == "0: columns of words have numbers, \"#0\" is the first; got 'ner'");
}

TEST_CASE("words that are not known are, and beginnings of documents are no sentences") {
    CHECK(read("xyz O").ids == Numbers{2, 1, 3});
    CHECK(read("-DOCSTART- -X- O O").ids.empty());
    CHECK(read("-DOCSTART- -X- O O").fault.empty());
}

TEST_CASE("files of sentences become samples, counted, with the line of what is wrong") {
    const auto folder = test::temporary_dir("labelled_tokens").string();
    const auto tokenizer = data::WordPiece::from_text(pieces, "v").tokenizer;
    std::ofstream(folder + "/train.conll") << "-DOCSTART- O\n\nAnna B-PER\nin O\n\n\nBerlin B-LOC\n. O\n";
    auto config = job();
    config.data.train = config.data.eval = {folder + "/train.conll"};
    const auto splits = data::read_labelled_tokens(config, *tokenizer);
    CHECK(splits.problems.empty());
    REQUIRE(splits.train->size() == 2);
    CHECK(splits.train->get(1, 0).ids == Numbers{2, 5, 6, 7, 3});
    CHECK(splits.train->get(1, 0).labels == Numbers{-100, 2, -100, 0, -100});
    CHECK(splits.train->length(1) == 5);
    CHECK(splits.train_rows.empty == 1);

    std::ofstream(folder + "/train.conll") << "Anna B-PER\nin O\n\nBerlin B-LOC\n. WHERE\n";
    const auto refused = data::read_labelled_tokens(config, *tokenizer);
    REQUIRE_FALSE(refused.problems.empty());
    CHECK_THAT(refused.problems[0], test::contains("/train.conll:5:3: label 'WHERE' is none of"));
    config.data.other_label = config::BadRow::skip;
    const auto skipped = data::read_labelled_tokens(config, *tokenizer);
    CHECK(skipped.problems.empty());
    CHECK(skipped.train_rows.skipped == 1);
    CHECK(skipped.train->size() == 1);
}
