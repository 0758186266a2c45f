// Damage to a tokenizer.json is told with file and path. To add a case: put what is changed and what is said
// into `cases`.
#include "core/kernel/base/input_error.h"
#include "core/kernel/base/limits.h"
#include "core/workbench/data/tokenizers/pipeline/expression.h"
#include "core/workbench/data/tokenizers/pipeline/greedy_pieces.h"
#include "core/workbench/data/tokenizers/pipeline/unigram.h"
#include "tokenizer_fixtures.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

std::string error_of(const std::string& text, const std::string& name = "t.json") {
    try {
        const auto tokenizer = data::read_tokenizer_json(text, name);
        return "none";
    } catch (const base::InputError& error) {
        return error.what();
    }
}

// Of a tokenizer.json with members replaced, given as JSON.
std::string error_with(const std::string& base, const std::string& change) {
    const auto parsed = base::parse_json(change);
    REQUIRE(parsed.error == "");
    return error_of(test::changed_tokenizer(base, parsed.value));
}

}  // namespace

TEST_CASE("what is not understood in a tokenizer.json is refused by name, with its path") {
    struct Case {
        const char *base, *change, *error;
    };
    const auto c = GENERATE(values<Case>({
        {"bytes", R"({"version": "2.0"})", "t.json: error: version: is '2.0'; expected '1.0'"},
        {"bytes", R"({"post_normalizer": null})",
         "t.json: error: post_normalizer: is not known; expected one of "},
        {"bytes", R"({"normalizer": {"type": "Foo"}})",
         "t.json: error: normalizer.type: 'Foo' is not known; expected one of NFC, NFD, "},
        {"bytes",
         R"({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Strip"}]}})",
         "t.json: error: normalizer.normalizers[1].strip_left: is missing"},
        {"bytes", R"({"normalizer": {"type": "NFC", "form": 1}})",
         "t.json: error: normalizer.form: is not known; expected one of type"},
        {"bytes", R"({"normalizer": {"type": "Replace", "pattern": {"Glob": "*"}, "content": ""}})",
         "t.json: error: normalizer.pattern.Glob: is not known; expected one of String, Regex"},
        {"bytes", R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAA"}})",
         "t.json: error: normalizer.precompiled_charsmap: is not base64: its length is no multiple of 4"},
        {"bytes", R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AA*A"}})",
         "normalizer.precompiled_charsmap: is not base64 at character 3"},
        {"bytes", R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "/////wAA"}})",
         "normalizer.precompiled_charsmap: has a table of 4294967292 bytes in 6"},
        {"bytes", R"({"pre_tokenizer": {"type": "UnicodeScripts"}})",
         "t.json: error: pre_tokenizer.type: 'UnicodeScripts' is not known; expected one of "},
        {"bytes", R"({"pre_tokenizer": {"type": "Digits", "individual_digits": 1}})",
         "pre_tokenizer.individual_digits: expected true or false, got the number 1"},
        {"bytes", R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "ab"}})",
         "pre_tokenizer.replacement: expected one character, got 'ab'"},
        {"bytes",
         R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "add_prefix_space": false}})",
         "pre_tokenizer.add_prefix_space: is false, but prepend_scheme is not \"never\""},
        {"bytes",
         R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated", "invert": false}})",
         "pre_tokenizer.pattern.Regex: the regular expression '(a': missing closing parenthesis"},
        {"bytes",
         R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[a&&b]"}, "behavior": "Isolated", "invert": false}})",
         "pre_tokenizer.pattern.Regex: the regular expression '[a&&b]': '&&' in a class is not taken at byte "
         "3"},
        {"bytes", R"({"model": {"dropout": 0.1}})",
         "t.json: error: model.dropout: merges are not left out by chance"},
        {"bytes", R"({"model": {"type": "Markov"}})",
         "model.type: 'Markov' is not known; expected one of WordPiece, BPE, Unigram, WordLevel"},
        {"bytes", R"({"model": {"merges": [["a", "nowhere"]]}})",
         "t.json: error: model: merge 1: 'nowhere' is not in the vocabulary"},
        {"bytes", R"({"model": {"merges": ["a b c"]}})",
         "model.merges: [0]: expected two tokens with a space between, got 'a b c'"},
        {"bytes", R"({"model": {"merges": [["a"]]}})", "model.merges: [0]: expected two tokens, got a list"},
        {"bytes", R"({"model": {"vocab": {"a": 0, "b": 0}, "merges": []}})",
         "model: the token 'b' has the number of 'a', 0"},
        {"bytes", R"({"model": {"vocab": {"a": -1}, "merges": []}})",
         "model: the token 'a' has the number -1; expected 0 to "},
        {"bytes", R"({"model": {"vocab": {"a": 5000000000}, "merges": []}})",
         "model: the token 'a' has the number 5000000000; expected 0 to "},
        {"bytes", R"({"model": {"vocab": {"a": "0"}, "merges": []}})",
         "model.vocab: the token 'a' has a text for its number"},
        {"bytes", R"({"model": {"vocab": []}})",
         "model.vocab: expected an object of tokens and their numbers"},
        {"bytes", R"({"added_tokens": [{"id": 0}]})", "added_tokens[0].content: is missing"},
        {"bytes",
         R"({"added_tokens": [{"id": 9999, "content": "new", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}]})",
         "added_tokens[0].id: is 9999, but the tokens before it leave the number 640"},
        {"bytes", R"({"post_processor": {"type": "BertProcessing", "sep": ["a"], "cls": ["b", 1]}})",
         "post_processor.sep: expected a token and its number"},
        {"bytes",
         R"({"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}], "pair": [], "special_tokens": {}}})",
         "post_processor.single[0].SpecialToken.id: 'x' is none of special_tokens"},
        {"bytes",
         R"({"post_processor": {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}}})",
         "post_processor.single: expected the sequence A once"},
        {"bytes", R"({"decoder": {"type": "CTC"}})", "decoder.type: 'CTC' is not known; expected one of "},
        {"wordpiece", R"({"model": {"unk_token": "[NONE]"}})",
         "model.vocab: has no token '[NONE]', which unk_token names"},
        {"unigram", R"({"model": {"unk_id": 100000}})", "model.vocab: unk_id is 100000, but there are "},
        {"unigram", R"({"model": {"vocab": [["a", 1], ["b"]]}})",
         "model.vocab: [1]: expected a token and its score"},
    }));
    INFO(c.change);
    CHECK_THAT(error_with(c.base, c.change), test::contains(c.error));
}

TEST_CASE("a tokenizer.json that is no JSON, or none of a tokenizer, is told with its place") {
    CHECK_THAT(error_of("{"), test::contains("t.json:1:"));
    CHECK_THAT(error_of("[]"), test::contains("t.json: error: expected an object, got a list"));
    CHECK_THAT(error_of("{}"), test::contains("t.json: error: model: is missing"));
    CHECK_THAT(error_of(R"({"model": {"a": 1, "a": 2}})"), test::contains("'a' appears twice"));
    CHECK_THAT(error_of(R"({"model": 1})"), test::contains("t.json: error: model: expected an object"));
    std::string deep = "{\"type\": \"NFC\"}";
    for (int i = 0; i < 40; ++i) deep = R"({"type": "Sequence", "normalizers": [)" + deep + "]}";
    CHECK_THAT(error_of(R"({"normalizer": )" + deep + "}"),
               test::contains("lists and objects inside each other"));
}

TEST_CASE("a text with what no token says is told where there is no unknown token") {
    auto change = base::parse_json(R"({"model": {"unk_token": "<none>", "byte_fallback": false}})").value;
    const auto pairs = data::read_tokenizer_json(test::changed_tokenizer("pairs", change), "t.json");
    CHECK(pairs->problem_in("the film") == "");
    CHECK_THAT(pairs->problem_in("the \u20b0"), test::contains("is not in the tokenizer's vocabulary"));
    CHECK_THROWS_AS(pairs->encode("\u20b0"), base::InputError);
    change = base::parse_json(R"({"model": {"unk_id": null}})").value;
    const auto pieces = data::read_tokenizer_json(test::changed_tokenizer("unigram", change), "t.json");
    CHECK(pieces->problem_in("the film") == "");
    CHECK_THAT(pieces->problem_in("the \u20b0"), test::contains("which has no unknown token"));
    CHECK(pieces->problem_in("a\xff") == "is not valid UTF-8 at byte 2");
}

TEST_CASE("an expression is bounded in its length and in its steps") {
    const auto error = [](const std::string& expression, const std::string& text) -> std::string {
        try {
            const data::Expression compiled(expression);
            data::Expression::Search search(compiled, text);
            data::TextMatch match;
            return search.find(0, match) ? "found" : "not found";
        } catch (const base::InputError& refused) {
            return refused.what();
        }
    };
    const auto most = base::limits::expression_bytes;
    CHECK(error(std::string(most, 'a'), "") == "not found");
    CHECK_THAT(error(std::string(most + 1, 'a'), ""), test::contains("at most " + std::to_string(most)));
    CHECK(error("(?:a|a)*[bc]", std::string(12, 'a')) == "not found");
    CHECK_THAT(error("(?:a|a)*[bc]", std::string(60, 'a')), test::contains("cannot be matched"));
    // One step for each character, and one to three more, as PCRE2 compiles or interprets it.
    const std::string few = "\\Aa*?[ac][bd]";
    const std::size_t steps = base::limits::expression_steps;
    CHECK(error(few, std::string(steps - 3, 'a')) == "not found");
    CHECK_THAT(error(few, std::string(steps, 'a')), test::contains("cannot be matched"));
    CHECK(error("\\p{L}+", std::string(1 << 20, 'a')) == "found");
    CHECK(error("(?:a|b)+", std::string(1 << 16, 'a')) == "found");
    for (const std::string refused :
         {"a{2}?", "\\G", "\\1", "\\p{Alpha}", "(?<n>a)", "(?x: a)", "[[a]]", "\\xff", "a(?i)b", "[:foo:]\\"})
        CHECK_THAT(error(refused, "a"), test::contains("is not taken"));
}

TEST_CASE("a vocabulary has as many tokens, and numbers as large, as its limit") {
    constexpr auto most = base::limits::vocabulary_entries;
    constexpr auto last = static_cast<std::int64_t>(most) - 1;
    const auto error = [](const auto& make) -> std::string {
        try {
            make();
            return "none";
        } catch (const base::InputError& refused) {
            return refused.what();
        }
    };
    const auto words = [&](const data::NumberedTokens& tokens) {
        return error([&] { return data::WholeWords(tokens, "a").count(); });
    };
    CHECK(words({{"a", last}}) == "none");
    CHECK(words({{"a", last + 1}}) ==
          "the token 'a' has the number 4194304; expected 0 to " + std::to_string(last));
    {
        data::NumberedTokens same(most + 1, {"a", 0});
        CHECK(words(same) == "has more than 4194304 tokens");
        same.pop_back();
        CHECK(words(same) == "the token 'a' stands there twice");  // not too many of them
    }
    std::vector<std::string> tokens(most + 1, "a");
    const auto pieces = [&] {
        return error([&] { return data::Unigram(tokens, std::vector<double>(tokens.size()), {}).count(); });
    };
    CHECK(pieces() == "has more than 4194304 tokens");
    tokens.pop_back();
    CHECK(pieces() == "none");
}

TEST_CASE("numbers of tokens in a tokenizer.json are read up to the limit of a vocabulary") {
    const auto most = std::to_string(base::limits::vocabulary_entries),
               more = std::to_string(base::limits::vocabulary_entries + 1);
    const auto unknown = [](const std::string& id) {
        return error_with("unigram", R"({"model": {"unk_id": )" + id + "}}");
    };
    CHECK_THAT(unknown(most), test::contains("model.vocab: unk_id is 4194304, but there are "));
    CHECK_THAT(unknown(more), test::contains("model.unk_id: expected a whole number from 0 to " + most));
    const auto pair = [](const std::string& id) {
        return error_with("bytes", R"({"post_processor": {"type": "BertProcessing", "sep": ["a", )" + id +
                                       R"(], "cls": ["b", 1]}})");
    };
    CHECK(pair(most) == "none");
    CHECK_THAT(pair(more),
               test::contains("post_processor.sep[1]: expected a whole number from 0 to " + most));
    const auto listed = [](const std::string& id) {
        return error_with(
            "bytes",
            R"({"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x",)"
            R"( "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [{"Sequence": {"id": "A",)"
            R"( "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {"x": {"id": "x",)"
            R"( "ids": [)" +
                id + R"(], "tokens": ["x"]}}}})");
    };
    CHECK(listed(most) == "none");
    CHECK_THAT(listed(more), test::contains("expected a whole number from 0 to " + most));
}
