// RoBERTa and DistilBERT against transformers, from the folders that it saved, and back.
// To add a family: a function in tests/fixtures/make_transformers.py, and its name here.
#include "run_model.h"

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "core/workbench/model/weights/huggingface_config.h"
#include "core/workbench/model/weights/load_weights.h"
#include "core/workbench/model/weights/tensors.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

using Files = std::shared_ptr<const model::SafetensorsFile>;

std::string folder_of(const std::string& name) {
    return (test::source_dir() / ("tests/fixtures/transformers_" + name)).string();
}

std::unique_ptr<test::Model> loaded(const std::string& name, const std::string& backend, Layout layout) {
    auto made = std::make_unique<test::Model>(test::configured(
        backend, layout,
        {"model.from=" + folder_of(name), "batch.size=3", "batch.max_length=12",
         name.ends_with("masked_lm") ? "task.kind=masked_lm" : "task.kind=classification",
         name.ends_with("masked_lm") ? "task.labels=[]" : "task.labels=[\"a\", \"b\", \"c\"]"}));
    const auto weights = model::load_weights(folder_of(name), made->config, made->parameters);
    CHECK(weights.problems == std::vector<std::string>{});
    CHECK(weights.fresh == std::vector<std::string>{});
    CHECK(weights.unused == std::vector<std::string>{});
    return made;
}

nlohmann::json config_in(const std::string& folder) {
    std::ifstream file(folder + "/config.json");
    return nlohmann::json::parse(file);
}

const std::vector<std::string> encoders{"roberta_classification", "roberta_masked_lm",
                                        "distilbert_classification", "distilbert_masked_lm"};

}  // namespace

TEST_CASE("RoBERTa and DistilBERT compute what transformers computes, gradients included") {
    const std::string backend = GENERATE("naive", "torch");
    const auto layout = GENERATE(Layout::padded, Layout::packed);
    for (const auto& name : encoders) {
        INFO(name << ", " << backend << ", " << switchyard::name(layout));
        const auto fixture = test::load_fixture("transformers_" + name).at(0);
        const auto made = loaded(name, backend, layout);
        const auto got = test::run(*made, fixture);
        const auto logits = fixture["logits"];
        CHECK(test::difference(got.logits, logits.dim() == 3 ? test::real_tokens(logits, fixture) : logits) ==
              "");
        CHECK(test::difference(got.loss, fixture["loss"]) == "");
        test::check_gradients(got, fixture,
                              [](const at::Tensor& found, const at::Tensor& expected, const auto&) {
                                  CHECK(test::gradient_difference(found, expected) == "");
                              });
    }
}

TEST_CASE("they are saved as transformers saved them") {
    for (const auto& name : encoders) {
        INFO(name);
        const auto made = loaded(name, "naive", Layout::padded);
        const auto folder = test::temporary_dir("saved").string();
        const auto theirs = config_in(folder_of(name));
        REQUIRE_FALSE(model::save_weights(folder, made->config, made->parameters,
                                          {theirs["pad_token_id"].get<std::int64_t>(), {}, {}}));
        const auto ours = config_in(folder);
        for (const auto& [key, value] : ours.items()) {
            INFO(key);
            if (theirs.contains(key) && !key.ends_with("2label") && !key.ends_with("2id"))
                CHECK(value == theirs[key]);
        }
        CHECK(ours["architectures"] == theirs["architectures"]);
        const Files saved = model::SafetensorsFile::open(folder + "/model.safetensors").file;
        const Files right = model::SafetensorsFile::open(folder_of(name) + "/model.safetensors").file;
        CHECK(saved->tensors().size() == right->tensors().size());
        for (const auto& tensor : right->tensors()) {
            INFO(tensor.name);
            const auto* const found = saved->find(tensor.name);
            REQUIRE(found != nullptr);
            const auto expected = model::view_stored(right, tensor);
            const auto value = model::view_stored(saved, *found);
            REQUIRE(value.sizes() == expected.sizes());
            const bool shifted = tensor.name == "roberta.embeddings.position_embeddings.weight";
            const std::int64_t from = shifted ? 2 : 0;  // nothing reads the rows before
            CHECK(value.narrow(0, from, value.size(0) - from)
                      .equal(expected.narrow(0, from, expected.size(0) - from)));
        }
    }
}

TEST_CASE(
    "a RoBERTa whose padding has another number, or one with next sentences, is saved under our names") {
    const auto made = loaded("roberta_masked_lm", "naive", Layout::padded);
    const auto folder = test::temporary_dir("other").string();
    REQUIRE_FALSE(model::save_weights(folder, made->config, made->parameters, {0, {}, {}}));
    CHECK(config_in(folder)["model_type"] == "switchyard");
    auto config = made->config;
    config.task.kind = config::TaskKind::next_sentence;
    CHECK(model::family_of(config) == model::Family::own);
    CHECK(model::family_of(config.model) == model::Family::roberta);
}

TEST_CASE("a RoBERTa with another number of padding is refused") {
    const auto folder = test::temporary_dir("padding").string();
    auto theirs = config_in(folder_of("roberta_masked_lm"));
    theirs["pad_token_id"] = 0;
    std::ofstream(folder + "/config.json") << theirs.dump();
    CHECK_THAT(model::read_huggingface_config(folder + "/config.json").error,
               test::contains("pad_token_id: expected 1, got 0"));
}
