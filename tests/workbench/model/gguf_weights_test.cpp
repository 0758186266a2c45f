// Weights from GGUF files: the same parameters as those of the folder that the file was made of, and SmolLM2,
// as it was published, against transformers (tests/fixtures/make_gguf.py).
#include "run_model.h"

#include <filesystem>
#include <fstream>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/tensor.h>

#include "core/workbench/model/weights/load_weights.h"

#include <nlohmann/json.hpp>

#include "fetched_data.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::contains;

namespace {

std::string fixture(const std::string& name) {
    return (test::source_dir() / "tests/fixtures" / name).string();
}

std::unique_ptr<test::Model> made_from(const std::string& path) {
    auto config = test::configured("torch", Layout::padded,
                                   {"model.from=" + path, "task.kind=causal_lm", "batch.size=1"});
    return std::make_unique<test::Model>(std::move(config));
}

model::LoadedWeights load(test::Model& made, const std::string& path) {
    return model::load_weights(path, made.config, made.parameters);
}

std::string copied(const std::string& name, std::size_t at, char byte) {
    std::ifstream file(fixture("gguf/" + name), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    bytes.at(at) = byte;
    const auto path = (test::temporary_dir("gguf") / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

}  // namespace

TEST_CASE("a GGUF file gives each parameter the values of the folder that it was made of") {
    for (const std::string name : {"llama", "gpt2"}) {
        INFO(name);
        const auto folder = fixture("generation_" + name), file = fixture("gguf/" + name + ".gguf");
        const auto theirs = made_from(folder), ours = made_from(file);
        REQUIRE(load(*theirs, folder).problems.empty());
        const auto loaded = load(*ours, file);
        REQUIRE(loaded.problems == std::vector<std::string>{});
        CHECK(loaded.fresh.empty());
        // GPT-2's table of words stands there twice, the second time as the output projection that is tied.
        CHECK(loaded.unused ==
              (name == "gpt2" ? std::vector<std::string>{"output.weight"} : std::vector<std::string>{}));
        REQUIRE(ours->parameters.all().size() == theirs->parameters.all().size());
        for (const auto& parameter : theirs->parameters.all()) {
            INFO(parameter.name);
            CHECK(ours->parameters.find(parameter.name)->value.equal(parameter.value));
        }
    }
}

TEST_CASE("tensors of a GGUF file that are missing or of another size are told, and nothing is changed") {
    const auto file = fixture("gguf/llama.gguf");
    auto config = test::configured(
        "torch", Layout::padded,
        {"model.from=" + file, "task.kind=causal_lm", "model.intermediate_size=40", "model.layers=3"});
    test::Model made(std::move(config));
    const auto before = made.parameters.all().front().value.clone();
    const auto loaded = load(made, file);
    std::string all;
    for (const auto& problem : loaded.problems) all += problem + "\n";
    CHECK_THAT(all,
               contains(file + ": tensor 'blk.0.ffn_down.weight' has shape [24, 32], but "
                               "decoder.0.feed_forward.out.weight of the configured model has [24, 40]"));
    CHECK_THAT(all, contains(file + ": has no tensor for decoder.2.attention.q.weight"));
    CHECK(made.parameters.all().front().value.equal(before));
}

TEST_CASE("a type of GGUF that is not read is refused by its name") {
    // The number of the type of the first tensor, output_norm.weight or another of 24 numbers, becomes I32's.
    std::ifstream file(fixture("gguf/llama.gguf"), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const std::string name = "output_norm.weight";
    const auto at = bytes.find(name);
    REQUIRE(at != std::string::npos);
    const auto path = copied("llama.gguf", at + name.size() + 4 + 8, 26);
    const auto made = made_from(path);
    const auto loaded = load(*made, path);
    REQUIRE(loaded.problems.size() == 1);
    CHECK(loaded.problems.front() == path +
                                         ": tensor 'output_norm.weight' has the type I32, which is not read "
                                         "here; expected F32, F16, Q4_0, Q4_1, "
                                         "Q8_0, Q4_K, Q6_K, BF16");
}

TEST_CASE("SmolLM2 from its GGUF file chooses the 200 tokens that transformers chooses") {
    const auto path = test::smollm2().string();
    if (!std::filesystem::exists(path)) return test::skip(test::no_smollm2);
    std::ifstream file(fixture("gguf/smollm2.json"));
    const auto expected = nlohmann::json::parse(file);
    auto ids = expected["prompt_ids"].get<std::vector<std::int64_t>>();
    const auto prompt = static_cast<std::int64_t>(ids.size());
    const auto generated = expected["generated"].get<std::vector<std::int64_t>>();
    ids.insert(ids.end(), generated.begin(), generated.end());

    const auto made = made_from(path);
    REQUIRE(load(*made, path).problems == std::vector<std::string>{});
    const at::NoGradGuard no_grad;
    Batch batch;
    batch.source.ids = at::tensor(ids).unsqueeze(0);
    batch.source.tokens.lengths = at::tensor(std::vector<int>{static_cast<int>(ids.size())}, at::kInt);
    // What each place says of the next token, had everything before been chosen so.
    const auto next = made->model->logits({}, batch).argmax(-1);
    const auto count = static_cast<std::int64_t>(generated.size());
    CHECK(count == 200);
    CHECK(next.narrow(0, prompt - 1, count).equal(at::tensor(generated)));
}
