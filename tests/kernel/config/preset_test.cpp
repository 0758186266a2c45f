// The configurations that ship with the program.
#include "core/kernel/config/show.h"

#include "config_test.h"

#include <switchyard_test.h>

using namespace switchyard;
using switchyard::config::ModelType;
using switchyard::test::errors;
using switchyard::test::good;

namespace {

// Parameters of a published model of this shape, without heads: checks the sizes of the presets against the
// literature.
std::int64_t parameters(const config::ModelConfig& m) {
    const std::int64_t bias = m.bias ? 1 : 0;
    const auto linear = [&](std::int64_t in, std::int64_t out) { return out * (in + bias); };
    const std::int64_t norm = m.hidden_size * (m.norm == NormKind::layer_norm ? 1 + bias : 1);
    const std::int64_t attention = 4 * linear(m.hidden_size, m.heads * m.head_dim);
    const std::int64_t feed_forward =
        linear(m.hidden_size, m.intermediate_size) + linear(m.intermediate_size, m.hidden_size);
    const std::int64_t layer = attention + feed_forward + 2 * norm;
    const std::int64_t learned =
        m.positions == config::Positions::learned ? m.max_positions * m.hidden_size : 0;
    return m.vocab_size * m.hidden_size + learned + m.layers * layer +
           m.decoder_layers * (layer + attention + norm);
}

}  // namespace

TEST_CASE("presets have the sizes of the literature") {
    CHECK(config::preset_names(switchyard::test::preset_dirs()) ==
          std::vector<std::string>{"bert-base", "gpt2", "mini-gpt", "mini-llama", "minilm-l6", "t5-small",
                                   "t5-v1.1-small", "textbook-768"});
    const auto model = [](const std::string& preset) { return good("preset = \"" + preset + '"').model; };
    // Published: 109.48 M with pooler, two segments and the embedding's norm (592,128 + 1,536 + 1,536 more
    // than here).
    CHECK(parameters(model("bert-base")) == 109'482'240 - 590'592 - 1'536 - 1'536);
    // Published: 124.44 M, with the final norm (1,536).
    CHECK(parameters(model("gpt2")) == 124'439'808 - 1'536);
    // Published: 60.51 M, with two tables of 32 x 8 relative biases and two final norms.
    CHECK(parameters(model("t5-small")) == 60'506'624 - 512 - 1'024);
    // Published: 22.71 M, with pooler (147,840), two segments and the embedding's norm (768 each).
    CHECK(parameters(model("minilm-l6")) == 22'713'216 - 147'840 - 768 - 768);
    const auto mini = model("mini-gpt");
    CHECK(mini.type == ModelType::gpt);
    CHECK((mini.layers == 6 && mini.hidden_size == 512 && mini.heads == 8 && mini.intermediate_size == 2048));
}

TEST_CASE("a preset gives way to the file, and to a later override") {
    const auto config = good("preset = \"gpt2\"\nmodel.layers = 3\n", {"model.heads=8"});
    CHECK(config.model.layers == 3);
    CHECK(config.model.heads == 8);
    CHECK(config.model.head_dim == 96);
    CHECK(config.where("model.layers") == "run.toml:2:7");
    CHECK(config.where("model.hidden_size") == "preset gpt2:5:1");
    CHECK(config.where("model.head_dim") == "default (hidden_size / heads)");
}

TEST_CASE(
    "a preset of --set takes the place of those that files name, and gives way to all that is written") {
    const std::string file = "preset = \"bert-base\"\nmodel.layers = 3\n";
    using Words = std::vector<std::string>;
    for (const auto& overrides :
         {Words{"preset=gpt2", "model.heads=6"}, Words{"model.heads=6", "preset=gpt2"},
          Words{"preset=t5-small", "model.heads=6", "preset=gpt2"}}) {
        const auto config = good(file, overrides);
        CHECK(config.model.type == ModelType::gpt);
        CHECK(config.model.layers == 3);
        CHECK(config.model.heads == 6);
        CHECK(config.where("model.vocab_size") == "preset gpt2:8:1");
        CHECK(config.where("model.decoder_layers") == good(file).where("model.decoder_layers"));
    }
    const auto dir = switchyard::test::temporary_dir("preset");
    switchyard::test::write_file(dir / "run.toml", "include = \"base.toml\"\n");
    switchyard::test::write_file(dir / "base.toml", file);
    config::LoadRequest request;
    request.path = (dir / "run.toml").string();
    request.preset_dirs = switchyard::test::preset_dirs();
    request.overrides = {"preset=gpt2"};
    const auto result = config::load(request);
    REQUIRE(result.config);
    CHECK((result.config->model.type == ModelType::gpt && result.config->model.layers == 3));
    CHECK_THAT(errors("preset = \"bert\"", {"preset=gpt2"}),
               switchyard::test::contains("run.toml:1:10: error: preset: there is no preset \"bert\""));
    CHECK_THAT(errors("", {"preset=bert", "preset=gpt2"}),
               switchyard::test::contains("--set #1: error: preset: there is no preset \"bert\""));
}

TEST_CASE("mistakes with presets") {
    CHECK(errors("preset = 3") == "run.toml:1:10: error: preset: got the integer 3; expected a string\n");
    CHECK(errors("preset = \"bert\"") ==
          "run.toml:1:10: error: preset: there is no preset \"bert\"; expected one of bert-base, gpt2, "
          "mini-gpt, mini-llama, minilm-l6, "
          "t5-small, t5-v1.1-small, textbook-768; did you mean \"bert-base\"?\n");
    CHECK_THAT(errors("preset = \"../presets/gpt2\""), switchyard::test::contains("there is no preset"));
    config::LoadRequest request;
    request.text = "preset = \"gpt2\"";
    request.path = "run.toml";
    CHECK_THAT(
        config::render(config::load(request).problems),
        switchyard::test::contains("there is no preset \"gpt2\"; expected none: no presets are installed\n"));
}

TEST_CASE("every shipped configuration loads") {
    int loaded = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(switchyard::test::source_dir() / "configs")) {
        if (entry.path().extension() != ".toml") continue;
        config::LoadRequest request;
        request.path = entry.path().string();
        request.preset_dirs = switchyard::test::preset_dirs();
        request.read_model_folder = [](const std::string& file) {  // which need not have been fetched
            return config::ModelFolder{file, "[model]\ntype = \"gpt\"\nmax_positions = 8192\n", ""};
        };
        const auto result = config::load(request);
        CAPTURE(request.path, config::render(result.problems));
        CHECK(result.config);
        ++loaded;
    }
    CHECK(loaded >= 4);
}

TEST_CASE("the demo is a stack of MiniLM-L6's layers") {
    config::LoadRequest request;
    request.path = (switchyard::test::source_dir() / "configs" / "demo.toml").string();
    request.preset_dirs = switchyard::test::preset_dirs();
    const auto result = config::load(request);
    REQUIRE(result.config);
    const auto& demo = *result.config;
    CHECK((demo.model.layers == 6 && demo.model.hidden_size == 384 && demo.model.heads == 12));
    CHECK((demo.model.intermediate_size == 1536 && demo.model.vocab_size == 30522 &&
           demo.model.max_positions == 512));
    CHECK((demo.batch.size == 32 && demo.batch.max_length == 128));
}
