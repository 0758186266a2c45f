// Embeddings of MiniLM-L6, as it was published, against what transformers computes of the same texts
// (tests/fixtures/make_generation.py).
#include "core/workbench/data/tokenizers/wordpiece.h"
#include "core/workbench/infer/embed.h"
#include "loaded_model.h"

#include <filesystem>
#include <map>

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include "fetched_data.h"

using namespace switchyard;

TEST_CASE("embeddings of MiniLM-L6 are those of transformers, mean, normalized or of the first token") {
    if (!std::filesystem::exists(test::minilm() / "model.safetensors")) return test::skip(test::no_demo_data);
    const auto layout = GENERATE(Layout::padded, Layout::packed);
    test::Model made(test::configured(
        "torch", layout, {"preset=minilm-l6", "task.kind=masked_lm", "batch.size=2", "batch.max_length=64"}));
    const auto loaded = model::load_weights(test::minilm().string(), made.config, made.parameters);
    REQUIRE(loaded.problems.empty());
    const auto opened = data::WordPiece::open((test::minilm() / "vocab.txt").string());
    REQUIRE(opened.tokenizer);
    const auto fixture = test::load_fixture("generation_minilm").at(0);
    const auto sentences = fixture.numbers["sentences"].get<std::vector<std::string>>();
    REQUIRE(sentences.size() == 4);
    const auto lengths = test::numbers_of(fixture["lengths"]);
    const std::map<std::string, infer::EmbedOptions> every{{"mean", {infer::Pooling::mean, false}},
                                                           {"embeddings", {infer::Pooling::mean, true}},
                                                           {"first", {infer::Pooling::first, false}}};
    for (const auto& [name, options] : every) {
        const auto got =
            infer::embed(made.config, made.plan, *made.model, *opened.tokenizer, sentences, options);
        for (std::size_t i = 0; i < sentences.size(); ++i) {
            INFO(name << ": " << sentences[i]);
            CHECK(got[i].tokens == lengths[i]);
            CHECK_FALSE(got[i].cut);
            const auto values = at::tensor(got[i].values, at::kFloat);
            const auto expected = fixture[name][static_cast<std::int64_t>(i)];
            REQUIRE(values.sizes() == expected.sizes());
            CHECK(values.sub(expected).abs().max().item<double>() < 1e-5);
        }
    }
    // Between the two batches of two it can be stopped.
    struct Stopped {};
    int asked = 0;
    const auto second = [&asked] {
        if (++asked == 2) throw Stopped{};
    };
    CHECK_THROWS_AS(
        infer::embed(made.config, made.plan, *made.model, *opened.tokenizer, sentences, {}, second), Stopped);
    CHECK(asked == 2);
}
