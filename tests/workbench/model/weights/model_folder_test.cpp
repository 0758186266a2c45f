// [model] from: a configuration that takes its sizes and formulas from a folder of transformers'.
// To add a case: a folder of tests/fixtures, or a text and what is wrong with it.
#include <filesystem>
#include <fstream>

#include "core/kernel/config/load.h"
#include "core/workbench/model/weights/huggingface_config.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::contains;

namespace {

std::string fixture_folder(const std::string& name) {
    return (test::source_dir() / "tests/fixtures" / name).string();
}

config::LoadResult loaded(const std::string& text, const std::vector<std::string>& overrides = {}) {
    config::LoadRequest request;
    request.path = "job.toml";
    request.text = text;
    request.overrides = overrides;
    request.read_model_folder = model::read_model_folder;
    return config::load(request);
}

std::string from(const std::string& folder) { return "[model]\nfrom = \"" + folder + "\"\n"; }

std::string told(const std::string& text) {
    const auto result = loaded(text);
    CHECK_FALSE(result.config);
    return config::render(result.problems);
}

}  // namespace

TEST_CASE("a folder of each family gives the model that its config.json describes, and its weights") {
    for (const auto* const name : {"transformers_tiny", "transformers_gpt2", "transformers_llama",
                                   "transformers_t5", "transformers_t5_gated"}) {
        INFO(name);
        const auto folder = fixture_folder(name);
        const auto result = loaded(from(folder));
        REQUIRE(config::render(result.problems) == "");
        auto theirs = model::read_huggingface_config(folder + "/config.json").model;
        if (theirs.max_positions == 0) theirs.max_positions = 512;  // the default of a t5
        CHECK(result.config->model == theirs);
        CHECK(result.config->train.weights == folder);
        CHECK(result.config->where("model.layers") == folder + "/config.json");
    }
}

TEST_CASE("what the file and overrides say goes before what the folder says") {
    const auto folder = fixture_folder("transformers_tiny");
    const auto config =
        *loaded("[train]\nweights = \"\"\n" + from(folder) + "dropout = 0.25\n", {"model.window=3"}).config;
    CHECK(config.model.dropout == 0.25);
    CHECK(config.model.window == 3);
    CHECK(config.train.weights.empty());
    CHECK(config.where("model.dropout") == "job.toml:5:1");
    const auto late = *loaded("[model]\nlayers = 7\n", {"model.from=" + folder}).config;
    CHECK(late.model.layers == model::read_huggingface_config(folder + "/config.json").model.layers);
}

TEST_CASE("a folder relative to the file that names it") {
    const auto dir = test::temporary_dir("job");
    std::filesystem::copy(fixture_folder("transformers_tiny"), dir / "tiny");
    std::ofstream(dir / "job.toml") << from("tiny");
    config::LoadRequest request;
    request.path = (dir / "job.toml").string();
    request.read_model_folder = model::read_model_folder;
    const auto config = *config::load(request).config;
    CHECK(config.train.weights == (dir / "tiny").string());
}

TEST_CASE("a folder that is no model's is told at the place that names it") {
    const auto dir = test::temporary_dir("none").string();
    CHECK_THAT(told(from(dir)), contains("job.toml:2:8: error: model.from: " + dir + " has no config.json"));
    CHECK_THAT(told(from(dir + "/x")), contains(dir + "/x is not there; expected a folder of Hugging"));
    std::filesystem::create_directories(dir + "/run/model");
    std::ofstream(dir + "/run/config.toml") << "\n";
    CHECK_THAT(told(from(dir + "/run")), contains("as a run leaves in " + dir + "/run/model at its end"));
    std::ofstream(dir + "/run/model/config.json") << "{}";
    CHECK_THAT(told(from(dir + "/run")),
               contains("/run has no config.json; expected a folder of Hugging Face's; did you mean " + dir +
                        "/run/model?"));
    std::ofstream(dir + "/config.json") << R"({"model_type": "opt"})";
    CHECK_THAT(told(from(dir)), contains("job.toml:2:8: error: model.from: " + dir +
                                         "/config.json: model_type: expected one of 'bert'"));
    CHECK_THAT(told(from(dir + "/config.json")), contains("/config.json is not a folder"));
    CHECK_THAT(told("[model]\nfrom = 3\n"), contains("job.toml:2:8: error: from: got the integer 3"));
    CHECK_THAT(told("[model]\nfrmo = \"x\"\n"), contains("did you mean model.from?"));
    CHECK_THAT(told("[[layer]]\nmatch = \"*\"\nmodel.from = \"x\"\n"), contains("model.from: unknown key"));
    config::LoadRequest without;
    without.path = "a.toml";
    without.text = from(dir);
    CHECK_THAT(config::render(config::load(without).problems),
               contains("a.toml:2:8: error: model.from: cannot be used here"));
}

TEST_CASE("a value that a configuration cannot have is told with the file of the folder") {
    const auto dir = test::temporary_dir("large").string();
    std::ofstream(dir + "/config.json")
        << R"({"model_type":"bert","num_hidden_layers":5000,"hidden_size":8,"num_attention_heads":2,)"
        << R"("intermediate_size":8,"vocab_size":9,"max_position_embeddings":4})";
    CHECK_THAT(told(from(dir)), contains(dir + "/config.json: error: model.layers: got the integer 5000"));
}
