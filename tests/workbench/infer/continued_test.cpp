// What a prompt begins with, and what new tokens make of it. Expected texts are what Hugging Face's decoders
// make of all tokens at once.
#include "core/kernel/config/load.h"
#include "core/workbench/data/tokenizers/byte_tokenizer.h"
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"
#include "core/workbench/data/tokenizers/wordpiece.h"
#include "core/workbench/infer/generate.h"

#include <switchyard_test.h>

using namespace switchyard;

TEST_CASE("words that follow a prompt stand behind one space, and pieces of its last word behind none") {
    const auto opened = data::WordPiece::from_text(
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nfilm\nwas\nlong\n##s\n", "vocab.txt");
    REQUIRE(opened.tokenizer);
    const auto& tokenizer = *opened.tokenizer;
    const auto was_long = tokenizer.encode("was long");
    REQUIRE(was_long.size() == 2);
    CHECK(infer::continued(tokenizer, "The film", was_long) == "The film was long");
    CHECK(infer::continued(tokenizer, "The film ", was_long) == "The film was long");
    CHECK(infer::continued(tokenizer, "", was_long) == "was long");
    CHECK(infer::continued(tokenizer, "The film ", {}) == "The film ");
    const std::vector<std::int64_t> s{9};
    CHECK(infer::continued(tokenizer, "the film", s) == "the films");
    CHECK(infer::continued(tokenizer, "the film ", s) == "the films");
}

TEST_CASE("where tokens change how a prompt's end is written, all are written as one text") {
    const auto tokenizer = data::read_tokenizer_json(R"({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "WordPiece", "prefix": "##", "cleanup": false}, {"type": "Fuse"},
            {"type": "Replace", "pattern": {"String": " ' "}, "content": "'"}]},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100,
                  "vocab": {"[UNK]": 0, "it": 1, "'": 2, "s": 3, "late": 4, ".": 5}}})",
                                                     "tokenizer.json");
    CHECK(infer::continued(*tokenizer, "it '", {3, 4, 5}) == "it's late .");
    CHECK(infer::continued(*tokenizer, "it", {2, 3, 4}) == "it's late");
}

TEST_CASE("an empty prompt begins with the tokens around texts, and is refused where there are none") {
    const auto configured = [](const std::string& type, const std::string& task) {
        config::LoadRequest request;
        request.overrides = {"model.type=" + type, "task.kind=" + task};
        auto loaded = config::load(request);
        REQUIRE(loaded.config);
        return *loaded.config;
    };
    const auto gpt = configured("gpt", "causal_lm"), t5 = configured("t5", "seq2seq");
    const data::ByteTokenizer bytes;
    const auto& special = bytes.specials();
    CHECK(infer::prompt_problem(gpt, bytes, "") == "");
    CHECK(infer::beginning_of(gpt, bytes, "").grown == infer::Ids{special.bos});
    CHECK(infer::prompt_problem(t5, bytes, "") == "");
    CHECK(infer::beginning_of(t5, bytes, "").source == infer::Ids{special.eos});
    CHECK(infer::beginning_of(t5, bytes, "").grown == infer::Ids{special.pad});
    const auto bare = data::read_tokenizer_json(R"({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
        "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "it": 1}}})",
                                                "tokenizer.json");
    CHECK(infer::prompt_problem(gpt, *bare, "it") == "");
    for (const char* const nothing : {"", "  "})
        CHECK(infer::prompt_problem(gpt, *bare, nothing) ==
              "the tokenizer has no token that begins a text; expected a prompt (--prompt)");
}
