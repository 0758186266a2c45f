// Texts while they come: characters are never cut, and nothing is told that a stop text may take back.
#include "core/workbench/infer/growing_text.h"
#include "core/workbench/data/tokenizers/byte_tokenizer.h"
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"
#include "core/workbench/infer/generate.h"
#include "core/workbench/infer/stop_texts.h"
#include "scripted_rows.h"

#include <switchyard_test.h>

using namespace switchyard;
using infer::GrowingText;
using infer::Ids;
using infer::StopTexts;
using infer::whole_characters;

TEST_CASE("a text ends where its last whole character does") {
    CHECK(whole_characters("") == 0);
    CHECK(whole_characters("ab") == 2);
    CHECK(whole_characters("a\xC3") == 1);
    CHECK(whole_characters("a\xC3\xA4") == 3);
    CHECK(whole_characters("a\xE2\x82") == 1);
    CHECK(whole_characters("a\xE2\x82\xAC") == 4);
    CHECK(whole_characters("\xF0\x9F\x98") == 0);
    CHECK(whole_characters("\xF0\x9F\x98\x80") == 4);
    CHECK(whole_characters("a\xEF\xBF\xBD\xEF\xBF\xBD") == 1);
    CHECK(whole_characters("\xA4\xA4\xA4\xA4") == 4);  // begins no character: it becomes none
}

TEST_CASE("a growing text is what decoding everything at once gives, however long it is") {
    const data::ByteTokenizer tokenizer;
    std::string text;
    for (int i = 0; i < 400; ++i) text += i % 7 == 0 ? "\xE2\x82\xAC" : i % 5 == 0 ? " " : "x";
    const auto ids = tokenizer.encode(text);
    GrowingText growing(tokenizer, "Go \n");
    GrowingText answer(tokenizer);
    Ids by_now;
    for (const auto id : ids) {
        by_now.push_back(id);
        growing.update(by_now);
        answer.update(by_now);
        REQUIRE(growing.text() == "Go \n" + tokenizer.decode(by_now));
        REQUIRE(answer.text() == tokenizer.decode(by_now));
    }
    CHECK(growing.begin_of_new() == 4);
}

TEST_CASE("stop texts are found where they begin first, and held back while they may come") {
    const StopTexts stops({"\n\n", "END", "ENDE"});
    CHECK(stops.find("ab", 0) == std::nullopt);
    CHECK(stops.find("aEND\n\n", 0) == 1U);
    CHECK(stops.find("aEND\n\n", 2) == 4U);
    CHECK(stops.safe_end("abc", 0) == 3);
    CHECK(stops.safe_end("abE", 0) == 2);
    CHECK(stops.safe_end("abEN\n", 0) == 4);
    CHECK(stops.safe_end("abEND", 0) == 2);  // still ENDE
    CHECK(stops.safe_end("abE", 3) == 3);    // that is the prompt's
    CHECK(StopTexts({"aab"}).safe_end("xaa", 0) == 1);
}

namespace {

// Bytes of a text, one after another, then eos.
test::ScriptedRows::Script writes(const std::string& text, std::size_t prompt) {
    return [=](const infer::Beginning& row) {
        std::vector<float> logits(261, 0.0F);
        const auto at = row.grown.size() - prompt;
        const data::ByteTokenizer tokenizer;
        const auto token =
            at < text.size() ? tokenizer.encode(text.substr(at, 1)).front() : tokenizer.specials().eos;
        logits[static_cast<std::size_t>(token)] = 20.0F;
        return logits;
    };
}

struct Written {
    infer::GeneratedText text;
    std::vector<std::string> pieces;
};

Written written(const std::string& prompt, const std::string& goes_on, std::vector<std::string> stops) {
    const data::ByteTokenizer tokenizer;
    config::Config config;
    config.task.kind = config::TaskKind::causal_lm;
    config.batch.max_length = 200;
    config.batch.size = 3;
    test::ScriptedRows rows(writes(goes_on, infer::beginning_of(config, tokenizer, prompt).grown.size()));
    infer::GenerateOptions options;
    options.sampling.temperature = 0.0;
    options.stop_texts = std::move(stops);
    Written result;
    infer::GenerateHooks hooks;
    hooks.piece = [&](const std::string& piece, bool) { result.pieces.push_back(piece); };
    infer::Generator generator(config, tokenizer, rows, options, hooks);
    result.text = generator.generate({prompt}).at(0).at(0);
    return result;
}

}  // namespace

TEST_CASE("pieces are whole characters, and put together they are the text") {
    const auto [text, pieces] =
        written("Say: ", "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80!", {"never"});
    CHECK(text.text == "Say: gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80!");
    CHECK(text.ended());
    CHECK(text.end == infer::End::eos);
    std::string all;
    for (const auto& piece : pieces) {
        CHECK(data::utf8_problem(piece) == "");
        all += piece;
    }
    CHECK(all == text.text);
    CHECK(pieces.size() > 5);
}

TEST_CASE("a text ends before its stop text, of which nothing is told") {
    const auto [text, pieces] = written("Q\n", "\nA: yes\n\nQ: no", {"\n\n", "Q:"});
    CHECK(text.text == "Q\n\nA: yes");  // the line break of the prompt is no part of a stop text
    CHECK(text.end == infer::End::stop);
    CHECK(text.ended());
    std::string all;
    for (const auto& piece : pieces) all += piece;
    CHECK(all == text.text);
    CHECK(written("Q", "yes\nno", {"\n\n"}).text.text == "Qyes\nno");
    CHECK(written("Q", "yes", {"y"}).text.text == "Q");
}

TEST_CASE("bytes that tokens stand for alone are shown once they are a character") {
    const auto tokenizer = data::read_tokenizer_json(R"({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": null, "post_processor": null,
        "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                  "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": true, "ignore_merges": false,
                  "vocab": {"<0xE2>": 0, "<0x82>": 1, "<0xAC>": 2, "a": 3, "b": 4}, "merges": []}})",
                                                     "tokenizer.json");
    GrowingText text(*tokenizer, "a");
    const auto shown = [&](const Ids& ids) {
        text.update(ids);
        return text.text().substr(0, whole_characters(text.text()));
    };
    CHECK(shown({4}) == "ab");
    CHECK(shown({4, 0}) == "ab");
    CHECK(shown({4, 0, 1}) == "ab");
    CHECK(shown({4, 0, 1, 2}) == "ab\xE2\x82\xAC");
    CHECK(shown({4, 0, 1, 2, 4}) ==
          "ab\xE2\x82\xAC"
          "b");
}
