// A small random BERT against transformers: everything it computes, in full.
// To add a case: compute it in make_tiny() of tests/fixtures/make_transformers.py, and name it and its task
// here.
#include "run_model.h"

#include <ATen/core/grad_mode.h>

#include "core/workbench/model/weights/huggingface_config.h"
#include "core/workbench/model/weights/load_weights.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::difference;
using test::gradient_difference;

namespace {

std::unique_ptr<test::Model> load(const std::string& backend, Layout layout, const test::FixtureCase& fixture,
                                  const std::vector<std::string>& task) {
    auto overrides = test::tiny_bert();
    overrides.insert(overrides.end(), task.begin(), task.end());
    auto made = std::make_unique<test::Model>(test::configured(backend, layout, overrides));
    const auto theirs = model::read_huggingface_config(test::tiny_folder() + "/config.json");
    REQUIRE(theirs.error.empty());
    CHECK(model::differences(made->config.model, theirs.model).empty());
    const auto loaded = model::load_weights(test::tiny_folder(), made->config, made->parameters);
    REQUIRE(loaded.problems.empty());
    if (!fixture["head.weight"].defined()) {
        CHECK(loaded.fresh.empty());
        return made;
    }
    CHECK(loaded.fresh == std::vector<std::string>{"classifier.weight", "classifier.bias"});
    const at::NoGradGuard no_grad;
    for (const char* name : {"weight", "bias"}) {
        made->parameters.find(std::string("classifier.") + name)
            ->value.copy_(fixture[std::string("head.") + name]);
    }
    return made;
}

void compare_outputs(const test::Outputs& got, const test::FixtureCase& fixture) {
    REQUIRE(got.hidden_TC.size() == 3);
    for (std::size_t i = 0; i < got.hidden_TC.size(); ++i) {
        INFO("hidden state " << i);
        const auto expected = test::real_tokens(fixture["hidden." + std::to_string(i)], fixture);
        CHECK(difference(got.hidden_TC[i], expected) == "");
    }
    const auto logits = fixture["logits"];
    CHECK(difference(got.logits, logits.dim() == 3 ? test::real_tokens(logits, fixture) : logits) == "");
    CHECK(difference(got.loss, fixture["loss"]) == "");
    if (fixture["pooled"].defined()) CHECK(difference(got.pooled, fixture["pooled"]) == "");
    test::check_gradients(got, fixture, [](const at::Tensor& found, const at::Tensor& expected, const auto&) {
        CHECK(gradient_difference(found, expected) == "");
    });
}

}  // namespace

TEST_CASE("a small BERT computes what transformers computes, gradients included") {
    const std::map<std::string, std::vector<std::string>> tasks{
        {"masked_lm", {"task.kind=masked_lm"}},
        {"next_sentence", {"task.kind=next_sentence"}},
        {"token_classification", {"task.kind=token_classification", "task.labels=[\"a\", \"b\", \"c\"]"}}};
    const std::string backend = GENERATE("naive", "torch");
    const auto layout = GENERATE(Layout::padded, Layout::packed);
    for (const auto& fixture : test::load_fixture("transformers_tiny")) {
        INFO(fixture.name << ", " << backend << ", " << name(layout));
        const auto made = load(backend, layout, fixture, tasks.at(fixture.name));
        compare_outputs(test::run(*made, fixture), fixture);
    }
}

TEST_CASE("masked words give the same loss and gradients however the output is projected") {
    const auto layout = GENERATE(Layout::padded, Layout::packed);
    const std::string option = GENERATE("task.project_all=true", "loss.projection=true");
    for (const auto& fixture : test::load_fixture("transformers_tiny")) {
        if (fixture.name != "masked_lm") continue;
        INFO(option << ", " << name(layout));
        const auto made = load("naive", layout, fixture, {"task.kind=masked_lm", option});
        compare_outputs(test::run(*made, fixture), fixture);
    }
}
