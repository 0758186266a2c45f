// [[layer]] rules. Add a pattern: a line in one of the tables below.
#include "core/kernel/config/layer_pattern.h"

#include "config_test.h"

#include <switchyard_test.h>

using namespace switchyard::config;
using switchyard::test::errors;
using switchyard::test::good;
using Names = std::vector<std::string>;

namespace {

// "e0 e1 d0", or the message.
std::string matched(const std::string& pattern, ModelType type) {
    ModelConfig model;
    model.type = type;
    model.layers = 4;
    model.decoder_layers = type == ModelType::t5 ? 2 : 0;
    const auto result = match_layers(pattern, model);
    std::string text;
    for (const auto& layer : result.layers) {
        if (!text.empty()) text += ' ';
        text += layer.stack == Stack::encoder ? 'e' : 'd';
        text += std::to_string(layer.index);
    }
    return result.message.empty() ? text : result.message;
}

}  // namespace

TEST_CASE("patterns name layers") {
    CHECK(matched("*", ModelType::bert) == "e0 e1 e2 e3");
    CHECK(matched("*", ModelType::t5) == "e0 e1 e2 e3 d0 d1");
    CHECK(matched("encoder.*", ModelType::t5) == "e0 e1 e2 e3");
    CHECK(matched("decoder.*", ModelType::gpt) == "d0 d1 d2 d3");
    CHECK(matched("encoder.2", ModelType::bert) == "e2");
    CHECK(matched("encoder.0-1,3", ModelType::bert) == "e0 e1 e3");
    CHECK(matched("encoder.3, 0-1 ,1", ModelType::bert) == "e0 e1 e3");
    CHECK(matched("decoder.1-1", ModelType::t5) == "d1");
}

TEST_CASE("patterns that are none, or match no layer") {
    for (const char* pattern : {"", "encoder", "encoder.", "encoder.x", "encoder.1-", "encoder.-1",
                                "encoder.2-1", "encoder.1,", "encoder.,1", "encoder.1..2", "Encoder.1", "*.1",
                                "encoder.1 decoder.1", "encoder.+1", "encoder.99999999999999999999"}) {
        CAPTURE(pattern);
        CHECK_THAT(matched(pattern, ModelType::bert),
                   switchyard::test::contains("is not a pattern of layers"));
    }
    CHECK(matched("encoder.4", ModelType::bert) == "\"encoder.4\" names layer 4, which is not there");
    CHECK(matched("encoder.2-9", ModelType::bert) == "\"encoder.2-9\" names layer 9, which is not there");
    CHECK(matched("decoder.0", ModelType::bert) == "\"decoder.0\" matches no layer");
    CHECK(matched("encoder.*", ModelType::gpt) == "\"encoder.*\" matches no layer");
    CHECK(matched("encoder." + std::string(1000, '1'), ModelType::bert) == "a pattern of 1008 characters");
}

TEST_CASE("rules change what holds for their layers, a later one wins") {
    const auto config = good(R"(
attention.backend = "torch"
[[layer]]
match = "encoder.0-3,11"
attention.backend = ["flash", "naive"]
normalization.backend = "naive"
model.window = 128
[[layer]]
match = "encoder.3"
attention = {backend = "chunked", allow_reduced = true}
activation.options.fused.fast = true
)");
    const auto first = config.layer({Stack::encoder, 0});
    CHECK(first.attention.backend == Names{"flash", "naive"});
    CHECK(first.normalization.backend == Names{"naive"});
    CHECK(first.model.window == 128);
    CHECK(first.model.layers == 12);
    const auto third = config.layer({Stack::encoder, 3});
    CHECK(third.attention.backend == Names{"chunked"});
    CHECK(third.attention.allow_reduced);
    CHECK(third.normalization.backend == Names{"naive"});
    CHECK(third.activation.options.at("fused").boolean("fast"));
    const auto plain = config.layer({Stack::encoder, 4});
    CHECK(plain.attention.backend == Names{"torch"});
    CHECK(plain.model.window == 0);
    CHECK(plain.activation.options.empty());
    CHECK(config.layer({Stack::encoder, 11}).model.window == 128);
    CHECK(config.layer_ids().size() == 12);
    CHECK(to_string(config.layers[1].origin) == "run.toml:9:9");
    CHECK(to_string(config.layers[0].values[2].origin) == "run.toml:7:7");
}

TEST_CASE("rules of included files and presets come first") {
    const std::filesystem::path dir = switchyard::test::temporary_dir("layers");
    switchyard::test::write_file(dir / "run.toml",
                                 "include = \"base.toml\"\n[[layer]]\nmatch = \"*\"\nmodel.window = 2\n");
    switchyard::test::write_file(dir / "base.toml", "[[layer]]\nmatch = \"*\"\nmodel.window = 1\n");
    LoadRequest request;
    request.path = (dir / "run.toml").string();
    const auto result = load(request);
    REQUIRE(result.config);
    REQUIRE(result.config->layers.size() == 2);
    CHECK(result.config->layer({Stack::encoder, 5}).model.window == 2);
}

TEST_CASE("mistakes in rules") {
    CHECK_THAT(errors("[[layer]]\nmatch = \"\"\n"),
               switchyard::test::contains("run.toml:2:9: error: layer.match: \"\" is not a pattern"));
    CHECK(errors("[[layer]]\nmatch = \"encoder.0-12\"\n") ==
          "run.toml:2:9: error: layer.match: \"encoder.0-12\" names layer 12, which is not there; expected "
          "layers from "
          "0 to 11\n");
    CHECK(errors("[[layer]]\nmatch = \"decoder.*\"\n") ==
          "run.toml:2:9: error: layer.match: \"decoder.*\" matches no layer; expected encoder.*: a bert has "
          "no decoder\n");
    CHECK(
        errors("[[layer]]\nmatch = \"all\"\n") ==
        "run.toml:2:9: error: layer.match: \"all\" is not a pattern of layers; expected \"*\", or encoder or "
        "decoder with "
        "numbers, ranges or *: \"encoder.0-3,11\", \"decoder.*\"\n");
    CHECK(errors("[[layer]]\nattention.backend = \"naive\"\n") ==
          "run.toml:1:1: error: layer.match: is missing; expected the layers that the rule is for, such as "
          "\"encoder.0-3\"\n");
    CHECK(errors("[[layer]]\nmatch = 3\n") ==
          "run.toml:2:9: error: layer.match: got the integer 3; expected a string\n");
    CHECK(errors("[layer]\nmatch = \"*\"\n") ==
          "run.toml:1:1: error: layer: got a table; expected [[layer]] tables, each with `match`\n");
    CHECK(errors("[[layer]]\nmatch = \"*\"\nmodel.layers = 3\n") ==
          "run.toml:3:7: error: model.layers: cannot differ from layer to layer\n");
    CHECK(errors("[[layer]]\nmatch = \"*\"\nattention.backand = \"x\"\n") ==
          "run.toml:3:11: error: attention.backand: unknown key; did you mean attention.backend?\n");
    CHECK(errors("[[layer]]\nmatch = \"*\"\nattn.backend = \"x\"\n") ==
          "run.toml:3:1: error: attn: unknown section; `switchyard config schema` lists all keys\n");
    CHECK(errors("[[layer]]\nmatch = \"*\"\nmodel.window = -1\n") ==
          "run.toml:3:16: error: model.window: got the integer -1; expected an integer >= 0 and <= "
          "268435456\n");
}
