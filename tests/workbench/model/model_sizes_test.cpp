// What `switchyard model` says of a model's size, against the models themselves and the literature.
// To add a shape: a line in shapes(); a published size: a line in the table.
#include "core/kernel/config/load.h"
#include "core/workbench/model/outline.h"

#include "run_model.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

config::Config configured(const std::vector<std::string>& overrides) {
    config::LoadRequest request;
    request.overrides = overrides;
    request.preset_dirs = {(test::source_dir() / "configs/presets").string()};
    const auto result = config::load(request);
    CAPTURE(config::render(result.problems));
    REQUIRE(result.config);
    return *result.config;
}

std::int64_t described(const config::Config& config) {
    std::int64_t sum = 0;
    for (const auto& part : model::describe(config)) sum += part.parameters;
    return sum;
}

}  // namespace

TEST_CASE("a model has as many parameters as are told of it") {
    const std::vector<std::vector<std::string>> shapes{
        {"model.type=bert"},
        {"model.type=bert", "model.norm_position=pre", "task.kind=next_sentence"},
        {"model.type=bert", "task.kind=token_classification", "task.labels=[\"a\", \"b\", \"c\"]"},
        {"model.type=gpt"},
        {"model.type=gpt", "model.positions=rotary", "model.norm=rms_norm", "model.activation=swiglu",
         "model.kv_heads=2", "model.tie_embeddings=false", "model.bias=false"},
        {"model.type=gpt", "model.positions=sinusoidal", "model.norm_position=post"},
        {"model.type=t5"},
        {"model.type=t5", "model.activation=geglu_tanh", "model.tie_embeddings=false",
         "model.decoder_layers=1"},
        {"model.type=t5", "model.positions=learned", "model.bias=true", "model.head_dim=3"}};
    for (auto shape : shapes) {
        for (const char* size : {"model.layers=2", "model.hidden_size=24", "model.heads=4",
                                 "model.vocab_size=50", "model.max_positions=16"})
            shape.emplace_back(size);
        INFO(shape[0] << " " << shape[1]);
        const auto config = configured(shape);
        const test::Model made(config);
        std::int64_t values = 0;
        for (const auto& parameter : made.parameters.all()) values += parameter.value.numel();
        CHECK(described(config) == values);
    }
}

TEST_CASE("presets have the parameters of the literature") {
    // BERT-base is published as 109.48 M: encoder and pooler. Its heads: two classes, or a projection, a norm
    // and a bias for each word.
    CHECK(described(configured({"preset=bert-base", "task.kind=next_sentence"})) == 109'482'240 + 2 * 769);
    CHECK(described(configured({"preset=bert-base"})) ==
          109'482'240 - (768 * 769) + (768 * 769) + 1'536 + 30'522);
    CHECK(described(configured({"preset=minilm-l6", "task.kind=next_sentence"})) == 22'713'216 + 2 * 385);
    CHECK(described(configured({"preset=gpt2"})) == 124'439'808);
    CHECK(described(configured({"preset=t5-small"})) == 60'506'624);
    CHECK(described(configured({"preset=t5-v1.1-small"})) == 76'961'152);
    // GPT-2's, and an output projection of its own.
    CHECK(described(configured({"preset=textbook-768"})) == 124'439'808 + 50'257 * 768);
    CHECK(described(configured({"preset=mini-gpt"})) == 10'000 * 512 + 256 * 512 + 6 * 3'152'384 + 1'024);
    CHECK(described(configured({"preset=mini-llama"})) ==
          2 * 10'000 * 512 + 6 * (2 * 512 * 512 + 2 * 512 * 128 + 3 * 512 * 1'376 + 1'024) + 512);
}

TEST_CASE("what a batch keeps for backward is told of any size: of twice the samples twice as much") {
    const std::vector<std::string> long_texts{"model.type=gpt", "model.positions=alibi",
                                              "model.max_positions=268000000", "batch.max_length=100000000"};
    const auto kept = [&](const std::string& samples) {
        auto shape = long_texts;
        shape.push_back("batch.size=" + samples);
        return model::describe(configured(shape));
    };
    const auto one = kept("1"), many = kept("20000");  // more than 2^63 bytes
    REQUIRE(one.size() == many.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
        INFO(one[i].name);
        CHECK(many[i].activation_bytes == 20'000.0 * one[i].activation_bytes);
    }
}
