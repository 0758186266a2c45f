// Tokenizers that are made from texts, against those that Hugging Face's library makes of the same texts
// (tests/fixtures/make_learned_merges.py), and by what they then do.
#include <algorithm>
#include <set>
#include <sstream>

#include "core/kernel/base/input_error.h"
#include "core/workbench/data/tokenizers/gpt2_files.h"
#include "core/workbench/data/tokenizers/sentencepiece_tokenizer.h"
#include "core/workbench/data/tokenizers/training/train_tokenizer.h"
#include "core/workbench/data/tokenizers/wordpiece.h"

#include "tokenizer_fixtures.h"

using namespace switchyard;
using namespace switchyard::data;

namespace {

std::vector<std::string> texts() {
    return test::json_of_file(test::tokenizer_fixture("texts.json")).get<std::vector<std::string>>();
}

std::vector<TokenizerFile> trained(TokenizerModel model, std::size_t size,
                                   const std::vector<std::string>& from) {
    TokenizerTrainer trainer({model, size, true});
    for (const auto& text : from) trainer.add(text);
    return trainer.finish();
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

// Sentences as people write them; SentencePiece wants more than a few.
std::vector<std::string> sentences() {
    const std::vector<std::string> who{"the keeper", "a sailor", "the mayor", "an old friend", "nobody"},
        what{"lights", "paints", "repairs", "forgets", "describes"},
        where{"the lighthouse", "a harbour", "the island", "the shore", "every lantern"};
    std::vector<std::string> all;
    for (const auto& w : who)
        for (const auto& v : what)
            for (const auto& p : where) all.push_back(w + " " + v + " " + p + ".");
    return all;
}

}  // namespace

TEST_CASE("byte pairs are learnt as Hugging Face's tokenizers learn them, merge for merge") {
    const auto expected = test::json_of_file(test::tokenizer_fixture("learned.json"));
    const auto files = trained(TokenizerModel::bpe, expected.at("size").get<std::size_t>(), texts());
    REQUIRE(files.size() == 2);
    auto merges = lines_of(files[1].bytes);
    REQUIRE(merges.front() == "#version: 0.2");
    merges.erase(merges.begin());
    CHECK(merges == expected.at("bpe").get<std::vector<std::string>>());

    const auto tokenizer = read_gpt2_files(files[0], files[1], {}, {});
    CHECK(tokenizer->size() == expected.at("size").get<std::int64_t>());
    for (const auto& text : texts()) {
        if (text.find("<|endoftext|>") == std::string::npos)  // which is no text
            CHECK(tokenizer->decode(tokenizer->encode(text)) == text);
    }
}

TEST_CASE("pieces of words are learnt as Hugging Face's tokenizers learn them") {
    const auto expected = test::json_of_file(test::tokenizer_fixture("learned.json")).at("wordpiece");
    const auto files = trained(TokenizerModel::wordpiece, 1500, texts());
    REQUIRE(files.size() == 1);
    const auto tokens = lines_of(files[0].bytes);
    CHECK(tokens.size() == expected.at("tokens").get<std::size_t>());
    const std::set<std::string> learned(tokens.begin(), tokens.end());
    CHECK(learned.size() == tokens.size());
    std::vector<std::string> missing;
    for (const auto& token : expected.at("always")) {
        if (!learned.contains(token.get<std::string>())) missing.push_back(token);
    }
    CHECK(missing == std::vector<std::string>{});

    const auto opened = WordPiece::from_text(files[0].bytes, "vocab.txt", {.lower_case = true});
    REQUIRE(opened.error == "");
    const auto unknown = opened.tokenizer->specials().unk;
    for (const auto& text : texts()) {
        const auto ids = opened.tokenizer->encode(text);
        // Words of more than a hundred characters are unknown whatever was learnt.
        if (text.size() < 100) CHECK(std::count(ids.begin(), ids.end(), unknown) == 0);
    }
}

TEST_CASE("SentencePiece's pieces are learnt, and give their texts back") {
    for (const auto model : {TokenizerModel::unigram, TokenizerModel::sentencepiece_bpe}) {
        INFO(name(model));
        const auto files = trained(model, 45, sentences());
        REQUIRE(files.size() == 1);
        CHECK(files[0].name == "tokenizer.model");
        const SentencePieceTokenizer tokenizer(files[0], {}, {});
        CHECK(tokenizer.size() == 45);
        CHECK(tokenizer.specials().pad == 0);
        CHECK(tokenizer.specials().eos == 1);
        CHECK(tokenizer.specials().bos == -1);
        for (const auto& text : sentences()) CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
        CHECK(tokenizer.encode("the lighthouse").size() < 12);  // of 14 characters
        CHECK(files[0].bytes == trained(model, 45, sentences())[0].bytes);
    }
}

TEST_CASE("what cannot be learnt is told") {
    const auto message = [](TokenizerModel model, std::size_t size, const std::vector<std::string>& from) {
        try {
            trained(model, size, from);
        } catch (const base::InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(message(TokenizerModel::bpe, 300, {}) == "there is no text to learn a vocabulary from");
    CHECK_THAT(message(TokenizerModel::unigram, 100000, sentences()),
               test::contains("SentencePiece makes no vocabulary of 100000 pieces of these texts: "));
}
