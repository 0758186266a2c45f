// Tokenizers in GGUF files, against tokenizers and sentencepiece (tests/fixtures/make_gguf.py).
// To add a kind: word_cuts() there.
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/workbench/data/tokenizers/gguf_tokenizer.h"
#include "core/workbench/data/tokenizers/open_tokenizer.h"

#include "../../gguf/gguf_bytes.h"
#include "fetched_data.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::GgufBytes;

namespace {

std::string gguf_fixture(const std::string& name) {
    return (test::source_dir() / "tests/fixtures/gguf" / name).string();
}

nlohmann::json json_of(const std::string& path) {
    std::ifstream file(path);
    return nlohmann::json::parse(file);
}

std::shared_ptr<const data::Tokenizer> opened_from(const std::string& path) {
    const auto result = data::open_tokenizer(config::DataConfig{}, path);
    REQUIRE(result.problems == std::vector<std::string>{});
    return result.tokenizer;
}

void check_cases(const data::Tokenizer& tokenizer, const nlohmann::json& cases) {
    for (const auto& one : cases) {
        const auto text = one["text"].get<std::string>();
        INFO(text);
        const auto ids = tokenizer.encode(text);
        CHECK(ids == one["ids"].get<std::vector<std::int64_t>>());
        CHECK(tokenizer.decode(ids) == text);
    }
}

std::string problem_of(const GgufBytes& bytes) {
    const auto path = bytes.write();
    const auto result = data::open_tokenizer(config::DataConfig{}, path);
    CHECK(result.tokenizer == nullptr);
    REQUIRE(result.problems.size() == 1);
    const auto& problem = result.problems.front();
    return problem.starts_with(path + ": ") ? problem.substr(path.size() + 2) : problem;
}

GgufBytes list(const std::string& key, const std::vector<std::string>& values) {
    GgufBytes bytes;
    bytes.text(key).number<std::uint32_t>(9).number<std::uint32_t>(8).number<std::uint64_t>(values.size());
    for (const auto& value : values) bytes.text(value);
    return bytes;
}

GgufBytes file(std::uint64_t entries, const std::vector<GgufBytes>& parts) {
    GgufBytes bytes;
    bytes.header(0, entries);
    for (const auto& part : parts) bytes.raw(part.bytes());
    return bytes;
}

GgufBytes entry(const std::string& key, const std::string& value) { return GgufBytes().entry(key, value); }

}  // namespace

TEST_CASE("tokenizers of GGUF files give the numbers that tokenizers and sentencepiece give") {
    for (const auto& kind : json_of(gguf_fixture("tokenizers.json"))) {
        INFO(kind["file"]);
        const auto tokenizer = opened_from(gguf_fixture(kind["file"]));
        CHECK(tokenizer->specials().bos == kind["bos"]);
        CHECK(tokenizer->specials().eos == kind["eos"]);
        const auto before =
            kind["begins"].get<bool>() ? std::vector<std::int64_t>{kind["bos"]} : std::vector<std::int64_t>{};
        CHECK(tokenizer->before_text() == before);
        CHECK(tokenizer->behind_text().empty());
        check_cases(*tokenizer, kind["cases"]);
    }
}

TEST_CASE("the files that a GGUF file's tokenizer leaves make the same tokenizer again") {
    const auto first = opened_from(gguf_fixture("bpe_smollm.gguf"));
    const auto folder = test::temporary_dir("kept");
    for (const auto& kept : first->files()) std::ofstream(folder / kept.name, std::ios::binary) << kept.bytes;
    const auto again = opened_from(folder.string());
    CHECK(again->size() == first->size());
    CHECK(again->specials().bos == first->specials().bos);
    CHECK(again->specials().eos == first->specials().eos);
    CHECK(again->specials().pad == first->specials().pad);
    CHECK(again->encode("the 12 foxes") == first->encode("the 12 foxes"));
}

TEST_CASE("SmolLM2's tokenizer in its GGUF file gives the numbers of tokenizers") {
    if (!std::filesystem::exists(test::smollm2())) return test::skip(test::no_smollm2);
    const auto tokenizer = opened_from(test::smollm2().string());
    CHECK(tokenizer->size() == 49152);
    CHECK(tokenizer->specials().eos == 2);
    check_cases(*tokenizer, json_of(gguf_fixture("smollm2.json"))["cases"]);
}

TEST_CASE("a GGUF file without a tokenizer, or with one that is not understood, is told by its key") {
    const std::string model = "tokenizer.ggml.model", tokens = "tokenizer.ggml.tokens";
    CHECK(problem_of(file(1, {entry("a", "b")})) ==
          "has no tokenizer (tokenizer.ggml.model); name one in data.vocabulary");
    CHECK(problem_of(file(1, {entry(model, "bert")})) ==
          "tokenizer.ggml.model: expected 'gpt2' or 'llama', got 'bert'");
    CHECK(problem_of(file(1, {entry(model, "gpt2")})) ==
          "tokenizer.ggml.tokens: expected a list of texts, got nothing");
    CHECK(problem_of(file(2, {entry(model, "gpt2"), list(tokens, {})})) ==
          "tokenizer.ggml.tokens: expected one token or more, got a list of 0");
    CHECK(problem_of(file(2, {entry(model, "gpt2"), list(tokens, {"a", "b", "a"})})) ==
          "tokenizer.ggml.tokens: token 2, 'a', is token 0 too");
    CHECK(problem_of(file(2, {entry(model, "gpt2"), list(tokens, {"a", "\xff"})})) ==
          "tokenizer.ggml.tokens: token 1 is not valid UTF-8 at byte 1");
    CHECK(problem_of(file(2, {entry(model, "gpt2"), list(tokens, {"a"})})) ==
          "tokenizer.ggml.merges: expected a list of texts, got nothing");
    CHECK(
        problem_of(
            file(3, {entry(model, "gpt2"), list(tokens, {"a"}), entry("tokenizer.ggml.pre", "viking")})) ==
        "tokenizer.ggml.pre: expected one of gpt-2, smollm, llama-bpe, llama3, llama-v3, qwen2, default, got "
        "'viking'");
    CHECK(problem_of(file(2, {entry(model, "llama"), list(tokens, {"a"})})) ==
          "tokenizer.ggml.scores: expected a list of numbers, got nothing");
    GgufBytes types;
    types.text("tokenizer.ggml.token_type")
        .number<std::uint32_t>(9)
        .number<std::uint32_t>(5)
        .number<std::uint64_t>(0);
    CHECK(problem_of(file(3, {entry(model, "gpt2"), list(tokens, {"a"}), types})) ==
          "tokenizer.ggml.token_type: expected a type for each of 1 tokens, got 0");
    CHECK(problem_of(file(4, {entry(model, "gpt2"), list(tokens, {"a"}), list("tokenizer.ggml.merges", {}),
                              GgufBytes().entry("tokenizer.ggml.bos_token_id", 7)})) ==
          "tokenizer.ggml.bos_token_id: expected a number below 1, got 7");
}

TEST_CASE("another kind of tokenizer is not looked for in a GGUF file") {
    config::DataConfig data;
    data.tokenizer = config::TokenizerKind::wordpiece;
    const auto path = gguf_fixture("bpe_smollm.gguf");
    CHECK(data::find_tokenizer(data, path).error ==
          path +
              ": is a GGUF file; expected vocab.txt, or data.tokenizer = \"huggingface\" for the tokenizer "
              "in it");
}
