// Labelled texts: what is used, held out, cut, skipped or refused.
#include "core/workbench/data/labelled_texts.h"
#include "core/workbench/data/split.h"
#include "core/workbench/data/tokenizers/wordpiece.h"

#include <fstream>
#include <set>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

constexpr const char* vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\n";

struct LabelledJob {
    config::DataConfig data;
    config::TaskConfig task{config::TaskKind::classification, {"no", "yes"}};
    std::string folder = test::temporary_dir("classification").string();

    explicit LabelledJob(const std::string& text) {
        std::ofstream(folder + "/train.tsv") << text;
        data.train = {folder + "/train.tsv"};
        data.eval = data.train;
    }
    data::Splits read(std::int64_t max_length = 16) const {
        const auto tokenizer = data::WordPiece::from_text(vocabulary, "v").tokenizer;
        config::Config config;
        config.data = data;
        config.batch.max_length = max_length;
        config.task = task;
        return data::read_labelled_texts(config, *tokenizer);
    }
};

}  // namespace

TEST_CASE("texts become pieces, labels numbers") {
    const auto splits = LabelledJob("label\ttext\nyes\ta b\n0\tc\n").read();
    REQUIRE(splits.problems.empty());
    REQUIRE(splits.train->size() == 2);
    CHECK(splits.train->get(0, 0).ids == std::vector<std::int64_t>{2, 4, 5, 3});
    CHECK(splits.train->get(0, 0).labels == std::vector<std::int64_t>{1});
    CHECK(splits.train->get(1, 0).ids == std::vector<std::int64_t>{2, 6, 3});
    CHECK(splits.train->get(1, 0).labels == std::vector<std::int64_t>{0});
    CHECK(splits.train->length(1) == 3);
}

TEST_CASE("pairs are cut from the longer text first and carry token_type_ids") {
    LabelledJob job("label\ttext\tother\nyes\ta a a a\tb b\n");
    job.data.pair_column = "other";
    const auto splits = job.read(7);
    REQUIRE(splits.problems.empty());
    CHECK(splits.train->get(0, 0).ids == std::vector<std::int64_t>{2, 4, 4, 3, 5, 5, 3});
    CHECK(splits.train->get(0, 0).token_type_ids == std::vector<std::int64_t>{0, 0, 0, 0, 1, 1, 1});
    CHECK(splits.train_rows.truncated == 1);
}

TEST_CASE("an unknown label is an error with its place, or skipped and counted") {
    LabelledJob job("label\ttext\nyes\ta\nmaybe\tb\n");
    const auto refused = job.read();
    REQUIRE(refused.problems.size() == 1);  // though the file is read for training and for evaluation
    CHECK(refused.problems[0] ==
          job.data.train[0] + ":3:1: label 'maybe' is none of 'no', 'yes' (task.labels)");
    job.data.other_label = config::BadRow::skip;
    const auto skipped = job.read();
    CHECK(skipped.problems.empty());
    CHECK(skipped.train_rows.read == 2);
    CHECK(skipped.train_rows.used == 1);
    CHECK(skipped.train_rows.skipped == 1);
}

TEST_CASE("a malformed row is an error with its place, or skipped") {
    LabelledJob job("label\ttext\nyes\nno\ta\n");
    CHECK(job.read().problems[0] == job.data.train[0] + ":2:4: the row has 1 column, expected 2");
    job.data.bad_row = config::BadRow::skip;
    CHECK(job.read().problems.empty());
    CHECK(job.read().train_rows.skipped == 1);
}

TEST_CASE("a hash holds texts out, and no text is in two splits") {
    std::string text = "label\ttext\n";
    for (int i = 0; i < 2000; ++i)
        text += std::string(i % 2 ? "yes" : "no") + "\t" + (i % 3 ? "" : " ") + "text " +
                std::to_string(i / 2) + "\n";
    LabelledJob job(text);
    job.data.eval.clear();
    job.data.eval_fraction = 0.1;
    const auto splits = job.read();
    REQUIRE(splits.problems.empty());
    CHECK(splits.train_rows.used + splits.eval_rows.used == 2000);
    // The binomial's standard deviation of 1000 pairs is 9.5 pairs.
    CHECK(splits.eval_rows.used > 120);
    CHECK(splits.eval_rows.used < 280);
    CHECK(splits.eval_rows.used % 2 == 0);  // both rows of a pair go the same way, whatever their white space
    CHECK(data::split_position("A  b\n") == data::split_position(" a B"));
    CHECK(data::split_position("a b") != data::split_position("ab"));
}

TEST_CASE("an empty data set is an error") {
    const auto splits = LabelledJob("label\ttext\n").read();
    REQUIRE(splits.problems.size() == 2);
    CHECK(splits.problems[0] == "data.train: no row can be used for training (0 read)");
    CHECK(splits.problems[1] == "data.eval: no row can be used for evaluation");
}

TEST_CASE("an unknown format is an error") {
    LabelledJob job("");
    job.data.train = {"reviews.orc"};
    CHECK_THAT(job.read().problems[0], test::contains("reviews.orc: cannot tell its format from its name"));
}

TEST_CASE("one class only, and labels that no sample has, are told") {
    const auto one = LabelledJob("label\ttext\nyes\ta\nyes\tb\n").read();
    CHECK(one.problems.empty());
    CHECK(one.warnings ==
          std::vector<std::string>{
              "data.train: all 2 samples have the label 'yes': there is nothing to tell apart",
              "data.train: no sample has the label 'no' (task.labels)",
              "data.eval: all 2 samples have the label 'yes': there is nothing to tell apart",
              "data.eval: no sample has the label 'no' (task.labels)"});
    CHECK(LabelledJob("label\ttext\nyes\ta\nno\tb\n").read().warnings.empty());
}

TEST_CASE("texts that are empty, hold NUL bytes or are no UTF-8 are told and counted") {
    const std::string good = "label\ttext\nyes\ta\nno\tb\n";
    LabelledJob job(good + "yes\t\nno\t \n" + std::string("yes\ta\0b\n", 8) + "no\ta\xff\n");
    job.data.eval = {job.folder + "/eval.tsv"};
    std::ofstream(job.data.eval[0]) << good;
    CHECK(job.read().problems ==
          std::vector<std::string>{job.data.train[0] + ":7:5: is not valid UTF-8 at byte 2"});
    job.data.bad_row = config::BadRow::skip;
    const auto read = job.read();
    CHECK(read.problems.empty());
    CHECK(read.train_rows.read == 6);
    CHECK(read.train_rows.used == 3);
    CHECK(read.train_rows.skipped == 3);
    CHECK(read.train_rows.empty == 2);
    CHECK(read.train_rows.invalid_utf8 == 1);
    CHECK(read.train_rows.with_nul == 1);
    CHECK(
        read.warnings ==
        std::vector<std::string>{
            "data.train: 2 rows without any text are left out",
            "data.train: 1 row of invalid UTF-8 is left out (data.bad_row)",
            "data.train: 1 row of 6 holds NUL bytes: is this text, in an encoding of one byte a character or "
            "UTF-8?"});
}

TEST_CASE("twenty problems are told, then how many more there are") {
    std::string rows;
    const auto problems = [&](int count) {
        std::string text = "label\ttext\nyes\ta\nno\tb\n";
        for (int i = 0; i < count; ++i) text += "maybe" + std::to_string(i) + "\ta\n";
        LabelledJob job(text);
        job.data.eval = {job.folder + "/eval.tsv"};
        std::ofstream(job.data.eval[0]) << "label\ttext\nyes\ta\n";
        return job.read().problems;
    };
    CHECK(problems(20).size() == 20);
    CHECK(problems(21).size() == 21);
    CHECK(problems(21).back() == "and 1 more");
    CHECK(problems(1020).back() == "and 1000 more");
}

TEST_CASE("what is wrong with many rows is told once, with how many they are and where the first ones are") {
    const auto problems = [](int count) {
        std::string text = "label\ttext\nyes\ta\n";
        for (int i = 0; i < count; ++i) text += "maybe\ta\n" + std::string(i == 0 ? "no\n" : "");
        LabelledJob job(text);
        auto told = job.read().problems;
        for (auto& problem : told)
            while (problem.find(job.folder) != std::string::npos)
                problem.erase(problem.find(job.folder), job.folder.size() + 1);
        return told;
    };
    const std::string label = "train.tsv:3:1: label 'maybe' is none of 'no', 'yes' (task.labels)",
                      width = "train.tsv:4:3: the row has 1 column, expected 2";
    CHECK(problems(1) == std::vector{label, width});
    CHECK(problems(2) == std::vector{label + "; the same in 1 more row: train.tsv:5:1", width});
    const auto first = label + "; the same in ";
    CHECK(problems(4) ==
          std::vector{first + "3 more rows: train.tsv:5:1, train.tsv:6:1, train.tsv:7:1", width});
    CHECK(problems(1000) ==
          std::vector{first + "999 more rows: train.tsv:5:1, train.tsv:6:1, train.tsv:7:1 and 996 more",
                      width});
}

TEST_CASE("a label is quoted up to a limit") {
    const auto problem =
        LabelledJob("label\ttext\n" + std::string(100'000, 'x') + "\ta\n").read().problems[0];
    CHECK(problem.size() < 600);
    CHECK_THAT(problem, test::contains("... (100000 characters)' is none of 'no', 'yes'"));
}

TEST_CASE("a regression learns scaled numbers of the training data, in both splits") {
    LabelledJob job("label\ttext\n10\ta b\n30\tc\n");
    job.task = {config::TaskKind::regression, {}};
    std::ofstream(job.folder + "/eval.tsv") << "label\ttext\n40\ta\n";
    job.data.eval = {job.folder + "/eval.tsv"};
    const auto splits = job.read();
    REQUIRE(splits.problems.empty());
    CHECK(splits.scale == data::LabelScale{{20.0}, {10.0}});
    CHECK(splits.train->get(0, 0).float_labels == std::vector<float>{-1.0F});
    CHECK(splits.train->get(1, 0).float_labels == std::vector<float>{1.0F});
    CHECK(splits.train->get(1, 0).labels.empty());
    CHECK(splits.eval->get(0, 0).float_labels == std::vector<float>{2.0F});

    job.task.standardize = false;
    const auto plain = job.read();
    CHECK(plain.scale == data::LabelScale{});
    CHECK(plain.train->get(1, 0).float_labels == std::vector<float>{30.0F});
}

TEST_CASE("a label that is no number is an error with file, line and column, or skipped and counted") {
    LabelledJob job("label\ttext\n1\ta\nheavy\tb\ninf\tc\n2\ta b\n");
    job.task = {config::TaskKind::regression, {}};
    const auto refused = job.read();
    REQUIRE(refused.problems.size() == 2);
    CHECK(refused.problems[0] == job.data.train[0] + ":3:1: column 'label': 'heavy' is no number");
    CHECK(refused.problems[1] ==
          job.data.train[0] + ":4:1: column 'label': 'inf' is not finite; expected a number");
    job.data.bad_row = config::BadRow::skip;
    const auto skipped = job.read();
    CHECK(skipped.problems.empty());
    CHECK(skipped.train_rows.used == 2);
    CHECK(skipped.train_rows.skipped == 2);
}

TEST_CASE("a column to predict that is not there is named") {
    LabelledJob job("label\ttext\n1\ta\n");
    job.task = {config::TaskKind::regression, {"height"}};
    REQUIRE_FALSE(job.read().problems.empty());
    CHECK_THAT(job.read().problems[0], test::contains("height"));
}

TEST_CASE("several labels of a text are numbers of 0 and 1") {
    LabelledJob job("label\ttext\nno,yes\ta b\n\tc\nyes\ta\n");
    job.task = {config::TaskKind::multi_label, {"no", "yes"}};
    job.data.label_separator = ",";
    const auto splits = job.read();
    REQUIRE(splits.problems.empty());
    CHECK(splits.train->get(0, 0).float_labels == std::vector<float>{1.0F, 1.0F});
    CHECK(splits.train->get(1, 0).float_labels == std::vector<float>{0.0F, 0.0F});
    CHECK(splits.train->get(2, 0).float_labels == std::vector<float>{0.0F, 1.0F});
    CHECK(splits.warnings.empty());

    job.task.labels = {"no", "yes", "maybe"};
    CHECK(job.read().warnings ==
          std::vector<std::string>{"data.train: no sample has the label 'maybe' (task.labels)",
                                   "data.eval: no sample has the label 'maybe' (task.labels)"});
}

TEST_CASE("columns that do not vary are told") {
    LabelledJob job("label\ttext\n3\ta b\n3\tc\n");
    job.task = {config::TaskKind::regression, {}};
    CHECK(job.read().warnings ==
          std::vector<std::string>{
              "data.train: the column 'label' has no two different values: there is nothing to learn"});
}
