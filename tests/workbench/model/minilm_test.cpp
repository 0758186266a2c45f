// MiniLM-L6, as it was published, against transformers on three reviews.
// To add a review: REVIEWS in tests/fixtures/make_transformers.py.
#include "run_model.h"

#include <filesystem>

#include <ATen/core/grad_mode.h>

#include "core/workbench/model/weights/load_weights.h"

#include "fetched_data.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::difference;
using test::gradient_difference;

namespace {

void set_head(model::Parameters& parameters, const test::FixtureCase& fixture) {
    const at::NoGradGuard no_grad;
    for (const char* name : {"weight", "bias"}) {
        parameters.find(std::string("classifier.") + name)->value.copy_(fixture[std::string("head.") + name]);
    }
}

void compare_hidden(const test::Outputs& got, const test::FixtureCase& fixture) {
    REQUIRE(got.hidden_TC.size() == 7);
    const auto step = fixture.numbers["column_step"].get<std::int64_t>();
    for (std::size_t i = 0; i < got.hidden_TC.size(); ++i) {
        const auto name = "hidden." + std::to_string(i);
        INFO(name);
        const auto columns = got.hidden_TC[i].slice(1, 0, std::nullopt, step);
        CHECK(difference(columns, test::real_tokens(fixture[name], fixture)) == "");
        CHECK(difference(got.hidden_TC[i].norm(2, 1), test::real_tokens(fixture["norm." + name], fixture)) ==
              "");
    }
}

void compare_gradients(const test::Outputs& got, const test::FixtureCase& fixture) {
    const auto check = [&](const at::Tensor& found, const at::Tensor& expected,
                           const std::string& parameter) {
        const auto shown = found.flatten().index_select(0, fixture["index." + parameter]);
        CHECK(gradient_difference(shown, expected) == "");
        CHECK(gradient_difference(found.to(at::kDouble).norm(), fixture["norm.grad." + parameter]) == "");
    };
    test::check_gradients(got, fixture, check);
}

}  // namespace

TEST_CASE("MiniLM-L6 computes what transformers computes, gradients included") {
    if (!std::filesystem::exists(test::minilm() / "model.safetensors")) return test::skip(test::no_demo_data);
    const std::string backend = GENERATE("naive", "torch");
    const auto layout = GENERATE(Layout::padded, Layout::packed);
    INFO(backend << ", " << name(layout));
    test::Model made(test::configured(
        backend, layout,
        {"preset=minilm-l6", "model.dropout=0.0", "model.attention_dropout=0.0", "task.kind=classification",
         "task.labels=[\"rotten\", \"fresh\"]", "batch.size=3", "batch.max_length=64"}));
    const auto loaded = model::load_weights(test::minilm().string(), made.config, made.parameters);
    REQUIRE(loaded.problems.empty());
    CHECK(loaded.fresh == std::vector<std::string>{"classifier.weight", "classifier.bias"});
    const auto fixture = test::load_fixture("transformers_minilm").at(0);
    set_head(made.parameters, fixture);

    const auto got = test::run(made, fixture);
    compare_hidden(got, fixture);
    CHECK(difference(got.pooled, fixture["pooled"]) == "");
    CHECK(difference(got.logits, fixture["logits"]) == "");
    CHECK(difference(got.loss, fixture["loss"]) == "");
    compare_gradients(got, fixture);
}
