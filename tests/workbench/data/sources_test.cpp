// Where samples come from: patterns of files, several sources by weight, rows that are skipped, texts that
// are too long. To add a case: write its files into a SourceJob.
#include <fstream>
#include <map>
#include <set>

#include "core/workbench/data/documents.h"
#include "core/workbench/data/labelled_texts.h"
#include "core/workbench/data/labelled_tokens.h"
#include "core/workbench/data/language_data.h"
#include "core/workbench/data/mixture.h"
#include "core/workbench/data/next_sentences.h"
#include "core/workbench/data/pair_samples.h"
#include "core/workbench/data/sample_list.h"
#include "core/workbench/data/tokenizers/byte_tokenizer.h"

#include <switchyard_test.h>

using namespace switchyard;
using config::Stopping;
using Texts = std::vector<std::string>;
using Ids = std::vector<std::int64_t>;

namespace {

struct SourceJob {
    config::Config config;
    std::string folder = test::temporary_dir("sources").string();
    std::shared_ptr<const data::Tokenizer> tokenizer = std::make_shared<data::ByteTokenizer>();

    SourceJob() {
        config.task.kind = config::TaskKind::causal_lm;
        config.data.tokenizer = config::TokenizerKind::bytes;
        config.batch.max_length = 16;
    }
    std::string file(const std::string& name, const std::string& text) const {
        const std::filesystem::path path = folder + "/" + name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text;
        return path.string();
    }
    void source(const std::string& name, const std::string& text, double weight) {
        config::SourceConfig source;
        source.name = name;
        source.files = {file(name + ".txt", text)};
        source.weight = weight;
        config.data.sources.push_back(source);
    }
    data::Splits read(data::LanguageTask task = data::LanguageTask::causal) const {
        return data::read_language_data(config.data, {task, config.batch.max_length, 400, 7}, tokenizer);
    }
};

std::string lines(const std::string& word, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += word + std::to_string(i) + "\n";
    return text;
}

Texts names_below(const std::string& folder, const std::string& pattern) {
    Texts names;
    for (const auto& path : data::files_of(folder + "/" + pattern))
        names.push_back(path.substr(folder.size() + 1));
    return names;
}

// The text of a sample of bytes.
std::string text_of(const SampleSource& samples, std::int64_t index) {
    return data::ByteTokenizer().decode(samples.get(index, 0).ids);
}

}  // namespace

TEST_CASE("a pattern names files in the order of their names, in folders of any depth too") {
    const SourceJob job;
    for (const char* name :
         {"b.txt", "a.txt", "c.csv", ".hidden.txt", "x/a.txt", "x/y/a.txt", "x/y/b.tsv", "[1]/a.txt"})
        (void)job.file(name, "text\n");
    CHECK(names_below(job.folder, "*.txt") == Texts{"a.txt", "b.txt"});
    CHECK(names_below(job.folder, "[ac].*") == Texts{"a.txt", "c.csv"});
    CHECK(names_below(job.folder, "?.csv") == Texts{"c.csv"});
    CHECK(names_below(job.folder, "**/a.txt") == Texts{"[1]/a.txt", "a.txt", "x/a.txt", "x/y/a.txt"});
    CHECK(names_below(job.folder, "x/**") == Texts{"x/a.txt", "x/y/a.txt", "x/y/b.tsv"});
    CHECK(names_below(job.folder, "x/*/*.tsv") == Texts{"x/y/b.tsv"});
    CHECK(names_below(job.folder, "[1]/*.txt") ==
          Texts{"[1]/a.txt"});  // the folder is there as it is written
    CHECK(names_below(job.folder, "x*") == Texts{"x/a.txt", "x/y/a.txt", "x/y/b.tsv"});
}

TEST_CASE("a pattern that matches nothing is an error that says so") {
    SourceJob job;
    (void)job.file("a.txt", "text\n");
    job.config.data.train = {job.folder + "/*.csv"};
    job.config.data.eval = {job.folder + "/*.txt"};
    CHECK(job.read().problems.front() == "data.train: " + job.folder +
                                             "/*.csv: no file has a name that matches; expected the name of "
                                             "a file or folder, in which * ? and "
                                             "[...] may stand for parts of it, and ** for folders");
}

TEST_CASE("weights are shares of an epoch, which ends with the first or the last source") {
    using Counts = std::vector<std::int64_t>;
    const auto counts = [](std::vector<data::SourceShare> shares, Stopping stopping) {
        return data::epoch_counts(shares, stopping);
    };
    CHECK(counts({{100, 1}, {1000, 1}}, Stopping::first_exhausted) == Counts{100, 100});
    CHECK(counts({{100, 1}, {1000, 1}}, Stopping::all_exhausted) == Counts{1000, 1000});
    CHECK(counts({{100, 3}, {1000, 1}}, Stopping::first_exhausted) == Counts{100, 33});
    CHECK(counts({{100, 3}, {1000, 1}}, Stopping::all_exhausted) == Counts{3000, 1000});
    CHECK(counts({{100, 0.1}, {1000, 1}}, Stopping::first_exhausted) == Counts{100, 1000});
    CHECK(counts({{7, 1}}, Stopping::first_exhausted) == Counts{7});
    CHECK(counts({{1000, 1}, {1000, 1e-9}}, Stopping::all_exhausted).empty());
    CHECK(counts({{1000, 1}, {1000, 1e-9}}, Stopping::first_exhausted) == Counts{1000, 0});
}

TEST_CASE("a mixture gives whole passes of each source, alternating, and the same ones again") {
    const auto numbered = [](std::int64_t source, std::int64_t count) {
        std::vector<Sample> samples(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i) samples[static_cast<std::size_t>(i)].ids = {source, i};
        return std::make_shared<data::SampleList>(std::move(samples));
    };
    const std::vector<std::shared_ptr<const SampleSource>> sources{numbered(0, 10), numbered(1, 700)};
    const data::Mixture mixture(sources, {25, 500}, 3), again(sources, {25, 500}, 3),
        other(sources, {25, 500}, 4);
    REQUIRE(mixture.size() == 525);
    std::map<Ids, int> seen;
    std::int64_t of_first = 0;
    bool same = true, differs = false;
    for (std::int64_t i = 0; i < mixture.size(); ++i) {
        const auto ids = mixture.get(i, 0).ids;
        ++seen[ids];
        of_first += ids[0] == 0 ? 1 : 0;
        same = same && again.get(i, 0).ids == ids && mixture.get(i, 5).ids == ids;
        differs = differs || other.get(i, 0).ids != ids;
        CHECK(mixture.length(i) == 2);
        // Of any beginning, each source has its share, but for one sample.
        CHECK(std::abs(static_cast<double>(of_first) - 25.0 * static_cast<double>(i + 1) / 525.0) <= 1.0);
    }
    CHECK(same);
    CHECK(differs);
    std::int64_t of_second = 0;
    for (const auto& [ids, count] : seen) {
        if (ids[0] == 0)
            CHECK((count == 2 || count == 3));
        else
            CHECK(count == 1);
        of_second += ids[0];
    }
    CHECK(of_second == 500);
    CHECK(seen.size() == 510);
}

TEST_CASE("sources are drawn by weight, counted, and read with their own columns") {
    SourceJob job;
    job.source("short", lines("a", 40), 3);
    job.source("long", lines("b", 400), 1);
    job.config.data.eval = {job.file("eval.txt", "b7\nnew\n")};
    job.config.data.sources[1].files = {job.file(
        "long.csv", "id,body\n" + [] {
            std::string rows;
            for (int i = 0; i < 400; ++i) rows += std::to_string(i) + ",b" + std::to_string(i) + "\n";
            return rows;
        }())};
    job.config.data.sources[1].text_column = "body";
    const auto splits = job.read();
    REQUIRE(splits.problems.empty());
    REQUIRE(splits.sources.size() == 2);
    CHECK(splits.sources[0].rows.used == 40);
    CHECK(splits.sources[1].rows.used == 400);
    CHECK(splits.train_rows.used == 440);
    CHECK(splits.sources[0].drawn == 40);
    CHECK(splits.sources[1].drawn == 13);
    CHECK(splits.also_in_train == 1);
    REQUIRE(splits.train->size() == 53);
    std::map<char, std::set<std::string>> texts;
    for (std::int64_t i = 0; i < 53; ++i) {
        const auto text = text_of(*splits.train, i);
        texts[text[0]].insert(text);
    }
    CHECK(texts['a'].size() == 40);
    CHECK(texts['b'].size() == 13);
    job.source("none", "\n\n", 1);
    CHECK(job.read().problems == Texts{"data.source: no row of 'none' can be used for training (2 read)"});
}

TEST_CASE("which of a source's samples a mixture has follows the seed, for every task") {
    SourceJob job;
    auto& config = job.config;
    std::string table = "text\tlabel\n";
    for (int i = 0; i < 40; ++i) table += "t" + std::to_string(i) + (i % 2 == 0 ? "\tno\n" : "\tyes\n");
    for (const char* const name : {"a", "b"}) {
        job.source(name, "", name[0] == 'a' ? 1.0 : 3.0);
        config.data.sources.back().files = {job.file(std::string(name) + ".tsv", table)};
    }
    config.data.eval = {job.file("eval.tsv", "text\tlabel\nother\tno\n")};
    const auto texts_of = [](const data::Splits& splits) {
        REQUIRE(splits.problems.empty());
        Texts texts;
        for (std::int64_t i = 0; i < splits.train->size(); ++i) texts.push_back(text_of(*splits.train, i));
        return texts;
    };
    const auto labelled = [&](std::int64_t seed) {
        config.task = {config::TaskKind::classification, {"no", "yes"}};
        config.data.target_column.clear();
        config.run.seed = seed;
        return texts_of(data::read_labelled_texts(config, *job.tokenizer));
    };
    const auto pairs = [&](std::uint64_t seed) {
        config.data.target_column = "label";
        return texts_of(data::read_pairs(config.data, 16, *job.tokenizer, seed));
    };
    CHECK(labelled(3) == labelled(3));
    CHECK(labelled(3) != labelled(4));
    CHECK(pairs(3) == pairs(3));
    CHECK(pairs(3) != pairs(4));
}

TEST_CASE("a regression is scaled by the labels of all its sources") {
    SourceJob job;
    auto& config = job.config;
    config.task = {config::TaskKind::regression, {}};
    for (const auto& [name, label] : {std::pair("low", "1"), std::pair("high", "3")}) {
        config::SourceConfig source;
        source.files = {
            job.file(std::string(name) + ".tsv", std::string("y\ttext\n") + label + "\tsome text\n")};
        source.label_column = "y";
        config.data.sources.push_back(source);
    }
    config.data.eval = {job.file("eval.tsv", "label\ttext\n2\tother\n")};
    const auto splits = data::read_labelled_texts(config, *job.tokenizer);
    REQUIRE(splits.problems.empty());
    CHECK(splits.scale.mean == std::vector{2.0});
    CHECK(splits.eval->get(0, 0).float_labels == std::vector{0.0F});
}

TEST_CASE("what is wrong with a label names the column of its source") {
    SourceJob job;
    auto& config = job.config;
    config.task = {config::TaskKind::regression, {}};
    const auto add = [&](const std::string& name, const std::string& label_column, const std::string& text) {
        config::SourceConfig source;
        source.files = {job.file(name, text)};
        source.label_column = label_column;
        config.data.sources.push_back(source);
    };
    add("plain.tsv", "", "label\ttext\n2\tsome\nnone\tmore\n");
    add("own.tsv", "price", "text\tprice\nsome\t2\nmore\tcheap\n");
    config.data.eval = {job.file("eval.tsv", "label\ttext\ndear\tother\n")};
    Texts told;
    for (const auto& problem : data::read_labelled_texts(config, *job.tokenizer).problems)
        told.push_back(problem.substr(job.folder.size() + 1));
    CHECK(told == Texts{"plain.tsv:3:1: column 'label': 'none' is no number",
                        "own.tsv:3:6: column 'price': 'cheap' is no number",
                        "eval.tsv:2:1: column 'label': 'dear' is no number"});

    config.data.sources.clear();
    config.data.eval = {job.file("eval.tsv", "label\ttext\n2\tother\n")};
    add("plain.tsv", "", "label\ttext\n2\tsome\n");
    add("own.tsv", "price", "text\tprice\nsome\t2\n");
    CHECK(data::read_labelled_texts(config, *job.tokenizer).warnings ==
          Texts{"data.source: the columns 'label', 'price' have no two different values: there is nothing to "
                "learn"});
}

TEST_CASE("rows that are skipped are listed with file, line, column and reason") {
    SourceJob job;
    auto& config = job.config;
    config.task = {config::TaskKind::classification, {"no", "yes"}};
    config.data.tokenizer = config::TokenizerKind::wordpiece;  // that is: bytes that are no UTF-8 are faults
    config.data.bad_row = config.data.other_label = config::BadRow::skip;
    config.data.train = {job.file("train.csv", "text,label\n\"a\nb\",maybe\nx\nx \xff,yes\nfine,no\n")};
    config.data.eval = {job.file("eval.csv", "text,label\nfine,yes\nall,other\n")};
    const auto splits = data::read_labelled_texts(config, *job.tokenizer);
    CHECK(splits.problems.empty());
    Texts told;
    for (const auto& row : splits.skipped)
        told.push_back(row.file.substr(job.folder.size() + 1) + ":" + to_string(row.place) + ": " +
                       row.message + (row.eval ? " (eval)" : ""));
    CHECK(told == Texts{"train.csv:3:4: label 'maybe' is none of 'no', 'yes' (task.labels)",
                        "train.csv:4:2: the row has 1 column, expected 2",
                        "train.csv:5:3: is not valid UTF-8 at byte 3",
                        "eval.csv:3:5: label 'other' is none of 'no', 'yes' (task.labels) (eval)"});
    CHECK(splits.train_rows.skipped == 3);
    CHECK(splits.eval_rows.skipped == 1);
}

TEST_CASE("a text that is too long is split into samples that give it back, with the next token as label") {
    SourceJob job;
    const std::string text = "abcdefghijklmnopqrstuvwxyz0123456789";
    job.config.data.train =
        job.config.data.eval = {job.file("a.txt", "short\n" + text + "\n" + text.substr(0, 15) + "\n")};
    job.config.data.on_long = config::LongText::split;
    const auto splits = job.read();
    REQUIRE(splits.problems.empty());
    CHECK(splits.train_rows.split == 1);
    CHECK(splits.train_rows.truncated == 0);
    REQUIRE(splits.train->size() == 5);
    const auto whole = data::ByteTokenizer().encode(text);
    Ids all, labels;
    for (std::int64_t i = 1; i < 4; ++i) {
        const auto sample = splits.train->get(i, 0);
        CHECK(static_cast<std::int64_t>(sample.ids.size()) == splits.train->length(i));
        CHECK(sample.ids.size() <= 16);
        REQUIRE(sample.ids[0] == 1);
        REQUIRE(sample.labels.size() == sample.ids.size());
        all.insert(all.end(), sample.ids.begin() + 1, sample.ids.end());
        labels.insert(labels.end(), sample.labels.begin() + (i == 1 ? 0 : 1), sample.labels.end());
    }
    CHECK(all == whole);
    auto expected = whole;
    expected.push_back(2);
    CHECK(labels == expected);
    CHECK(text_of(*splits.train, 4) == text.substr(0, 15));

    const auto masked = job.read(data::LanguageTask::spans);
    CHECK(masked.train_rows.split + masked.train_rows.truncated > 0);
}

TEST_CASE("a text that is too long is refused with its place where nothing may be cut, for every task") {
    SourceJob job;
    auto& config = job.config;
    config.data.on_long = config::LongText::error;
    config.batch.max_length = 8;
    const std::string reason = "the row has more tokens than batch.max_length, 8, has room for";
    const auto refused = [&](const data::Splits& splits) {
        REQUIRE_FALSE(splits.problems.empty());
        return splits.problems.front().substr(job.folder.size() + 1);
    };
    config.data.train = config.data.eval = {job.file("a.txt", "short\nmuch too long\n")};
    CHECK_THAT(refused(job.read()), test::contains("a.txt:2:1: " + reason));
    config.task = {config::TaskKind::classification, {"no", "yes"}};
    config.data.train =
        config.data.eval = {job.file("a.tsv", "label\ttext\nno\tshort\nyes\tmuch too long\n")};
    CHECK_THAT(refused(data::read_labelled_texts(config, *job.tokenizer)),
               test::contains("a.tsv:3:5: " + reason));
    config.data.target_column = "label";
    CHECK_THAT(refused(data::read_pairs(config.data, 8, *job.tokenizer)),
               test::contains("a.tsv:3:5: " + reason));
    config.task = {config::TaskKind::token_classification, {"no", "yes"}};
    config.data.train = config.data.eval = {job.file("b.txt", "a no\n\nmuch no\nlonger yes\n")};
    CHECK_THAT(refused(data::read_labelled_tokens(config, *job.tokenizer)),
               test::contains("b.txt:3:1: " + reason));
    config.task = {config::TaskKind::next_sentence, {}};
    config.data.documents = config::Documents::paragraphs;
    config.data.train = config.data.eval = {job.file("c.txt", "a\nb\n\nmuch\nlonger\n")};
    CHECK_THAT(refused(data::read_next_sentences(config, *job.tokenizer)),
               test::contains("c.txt:4:1: " + reason));
}

TEST_CASE("texts of the evaluation that are also learnt from are counted for every task") {
    SourceJob job;
    auto& config = job.config;
    const auto both = [&](const std::string& name, const std::string& train, const std::string& eval) {
        config.data.train = {job.file("train." + name, train)};
        config.data.eval = {job.file("eval." + name, eval)};
    };
    const std::string table = "label\ttext\nno\tone\nyes\ttwo\n",
                      other = "label\ttext\nyes\tTWO\nno\tthree\n";
    both("tsv", table, other);
    config.task = {config::TaskKind::classification, {"no", "yes"}};
    CHECK(data::read_labelled_texts(config, *job.tokenizer).also_in_train == 1);
    config.data.target_column = "label";
    CHECK(data::read_pairs(config.data, 16, *job.tokenizer).also_in_train == 1);
    for (const auto task :
         {data::LanguageTask::causal, data::LanguageTask::masked, data::LanguageTask::spans}) {
        if (task == data::LanguageTask::masked) continue;  // bytes have no mask token
        CHECK(job.read(task).also_in_train == 1);
    }
    config.task = {config::TaskKind::token_classification, {"O", "B"}};
    both("txt", "a O\n\nb B\n", "b B\n\nc O\n");
    CHECK(data::read_labelled_tokens(config, *job.tokenizer).also_in_train == 1);
    config.task = {config::TaskKind::next_sentence, {}};
    config.data.documents = config::Documents::paragraphs;
    both("txt", "a\nb\n\nc\nd\n", "c\nd\n\ne\nf\n");
    CHECK(data::read_next_sentences(config, *job.tokenizer).also_in_train == 1);
}
