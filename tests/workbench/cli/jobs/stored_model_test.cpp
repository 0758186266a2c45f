// `switchyard model` of files of weights, and `switchyard generate` of a GGUF file.
// To add a case: a file of tests/fixtures, or one that is damaged, and what is said of it.
#include "json_schema.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;
using nlohmann::json;

namespace {

std::string fixture_file(const std::string& name) {
    return (source_dir() / "tests/fixtures" / name).string();
}

json stored(const std::string& path) {
    auto found = run_json({"model", path});
    CHECK(schema_faults("stored_model.json", found) == no_faults);
    return found;
}

// The bytes of a fixture, one of them changed.
std::string damaged(const std::string& name, std::size_t at, char byte) {
    auto bytes = bytes_of(fixture_file(name));
    bytes.at(at) = byte;
    const auto path = (temporary_dir("damaged") / fs::path(name).filename()).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

}  // namespace

TEST_CASE("what a GGUF file holds is told: model, types, tokenizer, and what it lacks") {
    const auto llama = stored(fixture_file("gguf/llama.gguf"));
    CHECK(llama["format"] == "GGUF, version 3");
    CHECK(llama["model"]["positions"] == "rotary");
    CHECK(llama["model"]["kv_heads"] == 2);
    CHECK(llama["types"]["F32"]["tensors"] == 21);
    CHECK(llama["tokenizer"]["tokens"] == 60);
    CHECK(llama["tokenizer"]["eos"] == 0);
    CHECK(llama["not_understood"].empty());
    const auto shown = run({"model", fixture_file("gguf/llama.gguf")});
    CHECK(shown.code == 0);
    CHECK_THAT(shown.out,
               contains("llama.gguf: GGUF, version 3") && contains("tokenizer: 60 tokens, eos 0\n"));
    const auto gpt2 = stored(fixture_file("gguf/gpt2.gguf"));
    CHECK(gpt2["tokenizer"] == nullptr);  // the file has no merges
    REQUIRE(gpt2["not_understood"].size() == 2);
    CHECK_THAT(gpt2["not_understood"][0].get<std::string>(),
               contains("the model has no place for output.weight"));  // the tied table once more
    CHECK_THAT(gpt2["not_understood"][1].get<std::string>(),
               contains("tokenizer.ggml.merges: expected a list of texts, got nothing"));
    CHECK_THAT(run({"model", fixture_file("gguf/bpe_smollm.gguf")}).out,
               contains("tokenizer: 355 tokens, bos 0, eos 1"));
}

TEST_CASE("what a Hugging Face folder holds is told, and what it lacks") {
    const auto gpt2 = stored(fixture_file("generation_gpt2"));
    CHECK(gpt2["format"] == "safetensors, 1 file");
    CHECK(gpt2["model"]["max_positions"] == 256);
    CHECK(gpt2["types"]["F32"]["bytes"].get<std::int64_t>() > 60000);
    CHECK(gpt2["tokenizer"] == nullptr);
    REQUIRE(gpt2["not_understood"].size() == 1);
    CHECK_THAT(gpt2["not_understood"][0].get<std::string>(), contains("is a folder without a tokenizer"));
}

TEST_CASE("a GGUF file of another architecture is told, and one that is broken is refused") {
    const auto at = bytes_of(fixture_file("gguf/llama.gguf")).find("llama");
    const auto other = damaged("gguf/llama.gguf", at, 'x');
    const auto found = stored(other);
    CHECK(found["model"] == nullptr);
    CHECK(found["types"]["F32"]["tensors"] == 21);
    CHECK_THAT(found["not_understood"][0].get<std::string>(),
               contains(other + ": general.architecture: expected 'llama' or 'gpt2', got 'xlama'"));
    check_refused(run({"generate", other, "--prompt", "a"}),
                  {"general.architecture: expected 'llama' or 'gpt2', got 'xlama'"});
    const auto broken = damaged("gguf/llama.gguf", 4, 9);
    check_refused(run({"model", broken}), {broken + ": has the version 9 of the format; expected 2 or 3"});
}

TEST_CASE("a GGUF file generates, with its own tokenizer, the text that transformers generates") {
    const auto file = fixture_file("gguf/llama.gguf");
    const auto expected = json_of(fixture_file("gguf/llama.json"));  // a character is a token
    const auto prompt = expected["prompt"].get<std::string>(),
               text = expected["generated"].get<std::string>();
    const Words greedy{"generate", file, "--prompt", prompt, "--temperature", "0"};
    const auto shown = run(with(greedy, {"--max-tokens", "8"}));
    INFO(shown.err);
    CHECK(shown.code == 0);
    CHECK(shown.out == prompt + text.substr(0, 8) + "\n");
    const auto whole = run_json(with(greedy, {"--max-tokens", "200"}));
    CHECK(schema_faults("generate.json", whole) == no_faults);
    REQUIRE(whole["samples"].size() == 1);
    CHECK(whole["samples"][0]["text"] == prompt + text);
    CHECK(whole["samples"][0]["tokens"] == 200);
    CHECK(whole["samples"][0]["end"] == "limit");
}

TEST_CASE("a GGUF file whose tokenizer is not whole generates nothing") {
    check_refused(run({"generate", fixture_file("gguf/gpt2.gguf"), "--prompt", "0123"}),
                  {"gguf/gpt2.gguf: tokenizer.ggml.merges: expected a list of texts, got nothing"});
}

TEST_CASE("a run is no model of files: what of it is one, is told by name") {
    const auto folder = temporary_dir("run").string();
    check_refused(run({"model", folder}),
                  {folder + ": error: is a folder; expected a TOML file, a Hugging Face "
                            "folder or a GGUF file\n"});
    fs::create_directory(folder + "/model");
    std::ofstream(folder + "/config.toml") << "\n";
    check_refused(run({"model", folder}),
                  {"; of a run: " + folder + "/model or " + folder + "/config.toml\n"});
}
