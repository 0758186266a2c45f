// SmolLM2-135M, as it was published, generates from its GGUF file what transformers generates with the
// dequantized weights (tests/fixtures/make_gguf.py): over a cache, beside unequal prompts, with beams.
#include "core/workbench/infer/beam_search.h"
#include "core/workbench/infer/cached_rows.h"
#include "core/workbench/infer/sample_rows.h"
#include "loaded_model.h"

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "fetched_data.h"

using namespace switchyard;
using infer::Ids;

namespace {

constexpr std::int64_t new_tokens = 200;

// With the weights, and what transformers chose.
struct SmolLM2 {
    SmolLM2()
        : made(test::configured(
              "torch", Layout::padded,
              {"model.from=" + test::smollm2().string(), "task.kind=causal_lm", "batch.size=4",
               "batch.max_length=256", "run.phases=[\"prefill\", \"decode\"]"})),
          rows(made.config, *made.model) {
        REQUIRE(model::load_weights(test::smollm2().string(), made.config, made.parameters).problems ==
                std::vector<std::string>{});
        std::ifstream file(test::source_dir() / "tests/fixtures/gguf/smollm2.json");
        expected = nlohmann::json::parse(file);
    }

    infer::GenerationRequest asking(const std::vector<Ids>& prompts) const {
        infer::GenerationRequest request;
        for (const auto& ids : prompts) request.prompts.push_back({{}, ids});
        request.batch = 4;
        request.max_tokens = new_tokens;
        request.max_length = 256;
        return request;
    }

    std::vector<Ids> greedy(const std::vector<Ids>& prompts) {
        std::vector<Ids> generated;
        for (auto& samples :
             infer::sample_rows(rows, infer::TokenChooser({.temperature = 0.0}), asking(prompts), {}, speed))
            generated.push_back(std::move(samples.front().ids));
        return generated;
    }

    test::Model made;
    infer::CachedRows rows;
    nlohmann::json expected;
    infer::GenerationSpeed speed;
};

}  // namespace

TEST_CASE("SmolLM2 over a cache chooses the 200 tokens of transformers, alone and beside others") {
    if (!std::filesystem::exists(test::smollm2())) return test::skip(test::no_smollm2);
    SmolLM2 model;
    const auto& expected = model.expected;
    const auto prompts = expected["batched"]["prompt_ids"].get<std::vector<Ids>>();
    const auto generated = expected["batched"]["generated"].get<std::vector<Ids>>();
    REQUIRE(prompts.size() == 3);
    CHECK(generated[0].size() == new_tokens);
    CHECK(model.greedy(prompts) == generated);
    CHECK(model.greedy({expected["prompt_ids"].get<Ids>()}).front() == expected["generated"].get<Ids>());
}

TEST_CASE("SmolLM2 finds the four beams of 200 tokens that transformers finds") {
    if (!std::filesystem::exists(test::smollm2())) return test::skip(test::no_smollm2);
    SmolLM2 model;
    const auto& beams = model.expected["beams"];
    auto request = model.asking({beams["prompt_ids"].get<Ids>()});
    request.samples = 4;
    const auto found =
        infer::beam_search(model.rows, infer::TokenChooser({}), {4, 1.0, false}, request, {}, model.speed);
    const auto sequences = beams["sequences"].get<std::vector<Ids>>();
    REQUIRE(sequences.size() == 4);
    CHECK(sequences[0].size() == new_tokens);
    REQUIRE(found[0].size() == sequences.size());
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        CHECK(found[0][i].ids == sequences[i]);
        CHECK(found[0][i].score == Approx(beams["scores"][i].get<double>()).margin(1e-4));
    }
}
