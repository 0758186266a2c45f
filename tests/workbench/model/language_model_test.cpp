// Small random GPT-2, Llama and T5 models against transformers: logits, loss and all gradients of a step, in
// full.
// To add a model: a function for it in tests/fixtures/make_transformers.py, and its configuration in
// run_model.cpp.
#include "run_model.h"

#include "core/workbench/model/weights/huggingface_config.h"
#include "core/workbench/model/weights/load_weights.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::difference;
using test::gradient_difference;

namespace {

std::unique_ptr<test::Model> load(const std::string& name, const std::string& backend, Layout layout,
                                  const std::vector<std::string>& more = {}) {
    auto overrides = test::language_model(name);
    overrides.insert(overrides.end(), more.begin(), more.end());
    auto made = std::make_unique<test::Model>(test::configured(backend, layout, overrides));
    const auto folder = test::language_folder(name);
    const auto theirs = model::read_huggingface_config(folder + "/config.json");
    REQUIRE(theirs.error == "");
    CHECK(model::differences(made->config.model, theirs.model) == std::vector<std::string>{});
    const auto loaded = model::load_weights(folder, made->config, made->parameters);
    REQUIRE(loaded.problems == std::vector<std::string>{});
    CHECK(loaded.fresh.empty());
    CHECK(loaded.unused.empty());
    return made;
}

void compare(const test::Outputs& got, const test::FixtureCase& fixture) {
    CHECK(difference(got.logits, test::real_outputs(fixture["logits"], fixture)) == "");
    CHECK(difference(got.loss, fixture["loss"]) == "");
    test::check_gradients(got, fixture, [](const at::Tensor& found, const at::Tensor& expected, const auto&) {
        CHECK(gradient_difference(found, expected) == "");
    });
}

}  // namespace

TEST_CASE("small language models compute what transformers computes, gradients included") {
    const std::string backend = GENERATE("naive", "torch");
    const auto layout = GENERATE(Layout::padded, Layout::packed);
    for (const auto& model : test::language_models()) {
        INFO(model << ", " << backend << ", " << name(layout));
        const auto fixture = test::load_fixture("transformers_" + model).at(0);
        compare(test::run(*load(model, backend, layout), fixture), fixture);
    }
}

TEST_CASE("language models give the same loss and gradients however the output is projected") {
    const auto layout = GENERATE(Layout::padded, Layout::packed);
    const std::string option = GENERATE("task.project_all=true", "loss.projection=true");
    for (const auto& model : test::language_models()) {
        INFO(model << ", " << option << ", " << name(layout));
        const auto fixture = test::load_fixture("transformers_" + model).at(0);
        compare(test::run(*load(model, "naive", layout, {option}), fixture), fixture);
    }
}

TEST_CASE("scaled rotary positions give the logits that transformers gives") {
    for (const auto& fixture : test::load_fixture("transformers_llama_scaled")) {
        INFO(fixture.name);
        const auto& numbers = fixture.numbers;
        std::vector<std::string> more{"model.rotary_scaling=" + fixture.name,
                                      "model.rotary_factor=" + numbers["factor"].dump()};
        if (fixture.name == "llama3") {
            more.push_back("model.rotary_low_freq_factor=" + numbers["low_freq_factor"].dump());
            more.push_back("model.rotary_high_freq_factor=" + numbers["high_freq_factor"].dump());
            more.push_back("model.rotary_original_positions=" +
                           numbers["original_max_position_embeddings"].dump());
        }
        auto overrides = test::language_model("llama");
        overrides.insert(overrides.end(), more.begin(), more.end());
        for (const auto layout : {Layout::padded, Layout::packed}) {
            test::Model made(test::configured("torch", layout, overrides));
            REQUIRE(model::load_weights(test::language_folder("llama"), made.config, made.parameters)
                        .problems.empty());
            CHECK(difference(test::logits_of(made, fixture),
                             test::real_outputs(fixture["logits"], fixture)) == "");
        }
    }
}
