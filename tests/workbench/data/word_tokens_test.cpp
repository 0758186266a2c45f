// Words that are tokenized one by one. To add a case: words, and what must come of them.
#include "core/workbench/data/word_tokens.h"
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"
#include "core/workbench/data/tokenizers/wordpiece.h"

#include <switchyard_test.h>

using namespace switchyard;
using Numbers = std::vector<std::int64_t>;

namespace {

data::FramedWords framed(const data::Tokenizer& tokenizer, const std::vector<std::string>& words,
                         std::int64_t max_length = 0) {
    data::WordTokens tokens(tokenizer);
    for (const auto& word : words) CHECK(tokens.add(word) == "");
    return std::move(tokens).framed(max_length);
}

data::FramedWords in_pieces(const std::vector<std::string>& words, std::int64_t max_length = 0) {
    constexpr const char* pieces = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nin\nber\n##lin\n";
    return framed(*data::WordPiece::from_text(pieces, "v").tokenizer, words, max_length);
}

}  // namespace

TEST_CASE("words stand in the frame of a text, each with the place of its first piece") {
    const auto made = in_pieces({"in", "Berlin", "in"});
    CHECK(made.ids == Numbers{2, 4, 5, 6, 4, 3});
    CHECK(made.places == Numbers{1, 2, 4});
    CHECK_FALSE(made.cut);
    CHECK(in_pieces({}).ids == Numbers{2, 3});
}

TEST_CASE("words beyond the length have no place, and one that is cut through keeps its own") {
    const auto whole = in_pieces({"in", "Berlin"}, 5);
    CHECK(whole.ids == Numbers{2, 4, 5, 6, 3});
    CHECK_FALSE(whole.cut);
    const auto cut = in_pieces({"in", "Berlin", "in"}, 4);
    CHECK(cut.ids == Numbers{2, 4, 5, 3});
    CHECK(cut.places == Numbers{1, 2, -1});
    CHECK(cut.cut);
}

TEST_CASE("a word of which a tokenizer makes nothing is its unknown token, or refused where it has none") {
    const auto made = in_pieces({"\x01", "in"});
    CHECK(made.ids == Numbers{2, 1, 4, 3});
    CHECK(made.places == Numbers{1, 2});

    const auto letters = data::read_tokenizer_json(
        R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})", "letters.json");
    data::WordTokens tokens(*letters);
    CHECK(tokens.add("ab") == "");
    CHECK(tokens.add("xyz") ==
          "the tokenizer makes nothing of 'xyz' and has no unknown token to stand for it; expected words "
          "that it knows");
    CHECK(std::move(tokens).framed(0).ids == Numbers{0, 1});
}
