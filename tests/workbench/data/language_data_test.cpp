// Texts as samples of a causal language model: by themselves and in blocks. To add a case: write the file's
// text into a LanguageJob.
#include "core/workbench/data/language_data.h"
#include "core/workbench/data/tokenizers/byte_tokenizer.h"
#include "core/workbench/data/tokenizers/wordpiece.h"

#include <fstream>
#include <map>
#include <set>

#include <switchyard_test.h>

using namespace switchyard;
using data::LanguageTask;
using Ids = std::vector<std::int64_t>;

namespace {

struct LanguageJob {
    config::DataConfig data;
    data::LanguageSettings settings{LanguageTask::causal, 16, 300, 7};
    std::shared_ptr<const data::Tokenizer> tokenizer = std::make_shared<data::ByteTokenizer>();
    std::string folder = test::temporary_dir("language").string();

    explicit LanguageJob(const std::string& text) {
        data.train = {file("train.txt", text)};
        data.eval = data.train;
    }
    std::string file(const std::string& name, const std::string& text) const {
        std::ofstream(folder + "/" + name, std::ios::binary) << text;
        return folder + "/" + name;
    }
    data::Splits read() const { return data::read_language_data(data, settings, tokenizer); }
};

Ids bytes(std::string_view text) { return data::ByteTokenizer().encode(text); }

Ids framed(std::string_view text) {
    auto ids = bytes(text);
    ids.insert(ids.begin(), 1);
    return ids;
}

std::vector<std::string> many_texts() {
    std::vector<std::string> texts;
    for (int i = 0; i < 500; ++i) {
        std::string text(static_cast<std::size_t>(1 + i * i % 47), static_cast<char>('a' + i % 26));
        texts.push_back(text.append(std::to_string(i)));
    }
    return texts;
}

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const auto& text : texts) all += text + "\n";
    return all;
}

}  // namespace

TEST_CASE("a text's labels are its next tokens, with eos at the end") {
    const auto splits = LanguageJob("ab\n\ncde\n").read();
    REQUIRE(splits.problems.empty());
    REQUIRE(splits.train->size() == 2);
    const auto sample = splits.train->get(1, 0);
    CHECK(sample.ids == framed("cde"));
    CHECK(sample.labels == [] {
        auto ids = bytes("cde");
        ids.push_back(2);
        return ids;
    }());
    CHECK(sample.documents.empty());
    CHECK(splits.train->length(1) == 4);
    CHECK(splits.train_rows.read == 3);
    CHECK(splits.train_rows.skipped == 1);
}

TEST_CASE("a text that is too long is cut, and counted") {
    LanguageJob job("abcdefgh\n");
    job.settings.max_length = 4;
    const auto splits = job.read();
    CHECK(splits.train->get(0, 0).ids == framed("abc"));
    CHECK(splits.train_rows.truncated == 1);
}

TEST_CASE("blocks hold all texts end to end, and give them back") {
    const auto texts = many_texts();
    for (const auto kind : {config::Blocks::packed_lm, config::Blocks::fixed}) {
        LanguageJob job(joined(texts));
        job.data.blocks = kind;
        const auto splits = job.read();
        REQUIRE(splits.problems.empty());
        Ids stream, labels, documents;
        for (std::int64_t i = 0; i < splits.train->size(); ++i) {
            const auto block = splits.train->get(i, 3);
            CHECK(static_cast<std::int64_t>(block.ids.size()) == splits.train->length(i));
            if (i + 1 < splits.train->size()) CHECK(block.ids.size() == 16);
            REQUIRE(block.labels.size() == block.ids.size());
            stream.insert(stream.end(), block.ids.begin(), block.ids.end());
            labels.insert(labels.end(), block.labels.begin(), block.labels.end());
            documents.insert(documents.end(), block.documents.begin(), block.documents.end());
            std::int64_t total = 0;
            for (const auto length : block.documents) total += length;
            CHECK(total == (kind == config::Blocks::fixed ? 0 : static_cast<std::int64_t>(block.ids.size())));
        }
        Ids expected, expected_labels;
        std::set<std::int64_t> borders;
        for (const auto& text : texts) {
            const auto ids = framed(text);
            expected.insert(expected.end(), ids.begin(), ids.end());
            expected_labels.insert(expected_labels.end(), ids.begin() + 1, ids.end());
            expected_labels.push_back(2);
            borders.insert(static_cast<std::int64_t>(expected.size()));
        }
        CHECK(stream == expected);
        CHECK(labels == expected_labels);
        if (kind == config::Blocks::fixed) continue;
        for (std::int64_t at = 16; at < static_cast<std::int64_t>(expected.size()); at += 16)
            borders.insert(at);
        std::int64_t at = 0;
        auto border = borders.begin();
        for (const auto length : documents) {
            at += length;
            CHECK(at == *border++);
        }
    }
}

TEST_CASE("paragraphs, files and folders are texts") {
    LanguageJob job("");
    job.data.train = {job.file("a.txt", "one\ntwo\n\n \nthree\n")};
    job.data.documents = config::Documents::paragraphs;
    job.data.eval = job.data.train;
    auto splits = job.read();
    REQUIRE(splits.problems.empty());
    REQUIRE(splits.train->size() == 2);
    CHECK(splits.train->get(0, 0).ids == framed("one\ntwo"));
    CHECK(splits.train->get(1, 0).ids == framed("three"));

    std::filesystem::create_directories(job.folder + "/news/b");
    job.file("news/b/104", "x\n\ny\n");
    job.file("news/103", "z");
    job.file("news/.hidden", "no");
    job.data.documents = config::Documents::files;
    job.data.train = job.data.eval = {job.folder + "/news"};
    splits = job.read();
    REQUIRE(splits.problems.empty());
    REQUIRE(splits.train->size() == 2);
    CHECK(splits.train->get(0, 0).ids == framed("z"));
    CHECK(splits.train->get(1, 0).ids == framed("x\n\ny"));
}

TEST_CASE("a last block that is shorter than the shortest sequence is left out, and no other") {
    const auto count = [](std::int64_t shortest) {
        LanguageJob job(joined(many_texts()));
        job.data.blocks = config::Blocks::fixed;
        job.settings.min_length = shortest;
        return job.read().train;
    };
    const auto all = count(1);
    const auto last = all->length(all->size() - 1);
    REQUIRE(last < 16);
    CHECK(count(last)->size() == all->size());
    const auto full = count(last + 1);
    CHECK(full->size() == all->size() - 1);
    CHECK(count(16)->size() == all->size() - 1);
    for (std::int64_t i = 0; i < full->size(); ++i) CHECK(full->get(i, 0).ids == all->get(i, 0).ids);
}

TEST_CASE("no text is in both splits, though it comes twice, and blocks are of whole texts") {
    auto texts = many_texts();
    const auto once = texts;
    texts.insert(texts.end(), once.begin(), once.end());
    LanguageJob job(joined(texts));
    job.data.eval.clear();
    job.data.blocks = config::Blocks::packed_lm;
    const auto splits = job.read();
    REQUIRE(splits.problems.empty());
    std::map<std::string, int> seen;
    for (const auto* half : {&splits.train, &splits.eval}) {
        std::string stream;
        for (std::int64_t i = 0; i < (*half)->size(); ++i) {
            for (const auto id : (*half)->get(i, 0).ids) stream += id == 1 ? '\n' : static_cast<char>(id - 5);
        }
        std::set<std::string> here;
        std::size_t at = 1;
        for (std::size_t end; at <= stream.size(); at = end + 1) {
            end = std::min(stream.find('\n', at), stream.size());
            here.insert(stream.substr(at, end - at));
        }
        for (const auto& text : here) ++seen[text];
    }
    CHECK(seen.size() == once.size());
    for (const auto& [text, count] : seen) {
        INFO(text);
        CHECK(count == 1);
    }
    CHECK(splits.train_rows.used + splits.eval_rows.used == 1000);
}

TEST_CASE("bad input gets its place") {
    CHECK(LanguageJob("").read().problems.front().ends_with("/train.txt: is empty; expected text"));
    CHECK(LanguageJob("\n\n").read().problems.front() ==
          "data.train: no row can be used for training (2 read, 2 without any text)");
    LanguageJob job("fine\nb\xc3 x\n");
    job.tokenizer = data::WordPiece::from_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nfine\n", "v").tokenizer;
    REQUIRE(job.read().problems.size() == 1);  // though the file is read for training and for evaluation
    CHECK(job.read().problems[0] == job.data.train[0] + ":2:2: is not valid UTF-8 at byte 2");
    job.data.bad_row = config::BadRow::skip;
    CHECK(job.read().problems.empty());
    CHECK(job.read().train_rows.skipped == 1);
    job.settings.task = LanguageTask::masked;
    CHECK(job.read().problems.front() ==
          "data.vocabulary: the tokenizer has no mask token ([MASK], <mask>), which task.kind = "
          "\"masked_lm\" needs");
    job.data.train = {job.folder + "/train.orc"};
    job.settings.task = LanguageTask::causal;
    CHECK_THAT(job.read().problems.front(), test::contains("cannot tell its format from its name"));
    std::filesystem::create_directories(job.folder + "/empty");
    job.data.train = {job.folder + "/empty"};
    CHECK(job.read().problems.front() ==
          "data.train: " + job.folder + "/empty: holds no file; expected a folder of files of text");
}

TEST_CASE("texts to evaluate on that are also learnt from are counted, whatever their white space and case") {
    LanguageJob job("one\ntwo\nthree\n");
    job.data.eval = {job.file("eval.txt", "two\n Three \nfour\n")};
    CHECK(job.read().also_in_train == 2);
    job.data.eval.clear();
    job.data.eval_fraction = 0.5;
    CHECK(job.read().also_in_train == 0);
}
