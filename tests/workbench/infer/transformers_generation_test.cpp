// The tokens that transformers chooses: greedy, in batches of unequal prompts, with beams, with and without
// a cache; and what its logits processors leave. Fixtures: tests/fixtures/make_generation.py.
#include "core/workbench/infer/beam_search.h"
#include "core/workbench/infer/cached_rows.h"
#include "core/workbench/infer/logits/min_p.h"
#include "core/workbench/infer/logits/repetition_penalty.h"
#include "core/workbench/infer/logits/temperature.h"
#include "core/workbench/infer/logits/top_k.h"
#include "core/workbench/infer/logits/top_p.h"
#include "core/workbench/infer/sample_rows.h"
#include "loaded_model.h"

#include <algorithm>
#include <cmath>

using namespace switchyard;
using infer::Beginning;
using infer::Ids;

namespace {

Beginning prompt_of(const std::string& name, const at::Tensor& ids) {
    return name.starts_with("t5") ? Beginning{test::numbers_of(ids), {0}}
                                  : Beginning{{}, test::numbers_of(ids)};
}

infer::GenerationRequest request_of(std::vector<Beginning> prompts, std::int64_t tokens) {
    infer::GenerationRequest request;
    request.prompts = std::move(prompts);
    request.batch = 4;
    request.max_tokens = tokens;
    request.max_length = 256;
    return request;
}

const std::vector<std::string> kinds_of_rows{"whole", "contiguous", "paged"};

// `kind`: rows that run whole for every token, or the kind of cache that they run over.
struct Generating {
    Generating(const std::string& name, const std::string& kind)
        : made(test::loaded_language_model(
              name, (test::source_dir() / "tests/fixtures/generation_").string() + name, Layout::padded,
              {"model.max_positions=256", "batch.max_length=256", "batch.size=12",
               "run.phases=[\"train\", \"eval\", \"prefill\", \"decode\"]",
               "cache.kind=" + (kind == "whole" ? "contiguous" : kind)})) {
        if (kind == "whole")
            rows = std::make_unique<infer::WholeRows>(made->config, made->plan, *made->model, 0);
        else
            rows = std::make_unique<infer::CachedRows>(made->config, *made->model);
    }

    std::unique_ptr<test::Model> made;
    std::unique_ptr<infer::GrowingRows> rows;
    infer::GenerationSpeed speed;
};

// Of a batch of unequal prompts.
std::vector<Beginning> prompts_of(const std::string& name, const test::FixtureCase& fixture) {
    const auto lengths = test::numbers_of(fixture["lengths"]);
    std::vector<Beginning> prompts;
    for (std::size_t i = 0; i < lengths.size(); ++i)
        prompts.push_back(
            prompt_of(name, fixture["prompts"][static_cast<std::int64_t>(i)].narrow(0, 0, lengths[i])));
    return prompts;
}

infer::BeamOptions beams_of(const test::FixtureCase& fixture) {
    return {fixture.numbers["beams"].get<std::int64_t>(), fixture.numbers["length_penalty"].get<double>(),
            false};
}

// Of one prompt: `sequences` with `ends` tokens each, that which ends a text included.
void check_beams(const std::vector<infer::Generated>& got, const at::Tensor& sequences,
                 const at::Tensor& ends, const at::Tensor& scores, std::int64_t eos) {
    const auto lengths = test::numbers_of(ends);
    REQUIRE(got.size() == lengths.size());
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        auto expected = test::numbers_of(sequences[at].narrow(0, 0, lengths[i]));
        const bool ended = expected.back() == eos;
        if (ended) expected.pop_back();
        CHECK(got[i].ids == expected);
        CHECK((got[i].end == infer::End::eos) == ended);
        CHECK(got[i].score == Approx(scores[at].item<double>()).margin(1e-4));
    }
}

std::unique_ptr<infer::LogitsProcessor> processor_of(const std::string& name, double value) {
    if (name == "repetition_penalty") return std::make_unique<infer::RepetitionPenalty>(value);
    if (name == "temperature") return std::make_unique<infer::Temperature>(value);
    if (name == "top_k") return std::make_unique<infer::TopK>(static_cast<std::int64_t>(value));
    if (name == "top_p") return std::make_unique<infer::TopP>(value);
    return std::make_unique<infer::MinP>(value);
}

}  // namespace

TEST_CASE("greedy tokens are those of transformers, alone and beside others") {
    const std::string kind = GENERATE(from_range(kinds_of_rows));
    for (const auto& name : test::language_models()) {
        Generating generating(name, kind);
        for (const auto& fixture : test::load_fixture("generation_" + name)) {
            if (fixture.name != "greedy" && fixture.name != "batched") continue;
            INFO(name << " " << fixture.name << " " << kind);
            const bool batched = fixture.name == "batched";
            std::vector<Beginning> prompts;
            std::vector<Ids> expected;
            if (batched) {
                prompts = prompts_of(name, fixture);
                for (std::size_t i = 0; i < prompts.size(); ++i)
                    expected.push_back(test::numbers_of(fixture["generated"][static_cast<std::int64_t>(i)]));
            } else {
                prompts.push_back(prompt_of(name, fixture["prompt"]));
                // Rows that run whole have the rest of them in "batched", beside others.
                const auto all = fixture["generated"];
                expected.push_back(test::numbers_of(all.narrow(0, 0, kind == "whole" ? 50 : all.size(0))));
            }
            const auto count = static_cast<std::int64_t>(expected[0].size());
            const auto got =
                infer::sample_rows(*generating.rows, infer::TokenChooser({.temperature = 0.0}),
                                   request_of(prompts, batched ? 200 : count), {}, generating.speed);
            for (std::size_t i = 0; i < expected.size(); ++i) CHECK(got[i][0].ids == expected[i]);
        }
    }
}

TEST_CASE("beams are those of transformers, with their scores") {
    const std::string kind = GENERATE(from_range(kinds_of_rows));
    for (const auto& name : test::language_models()) {
        Generating generating(name, kind);
        int cases = 0;
        for (const auto& fixture : test::load_fixture("generation_" + name)) {
            if (!fixture.name.starts_with("beams") || fixture["prompts"].defined()) continue;
            INFO(name << " " << fixture.name << " " << kind);
            ++cases;
            auto request = request_of({prompt_of(name, fixture["prompt"])}, fixture["sequences"].size(1));
            request.eos = fixture.numbers["eos"].get<std::int64_t>();
            const auto options = beams_of(fixture);
            request.samples = options.beams;
            const auto got = infer::beam_search(*generating.rows, infer::TokenChooser({}), options, request,
                                                {}, generating.speed);
            check_beams(got[0], fixture["sequences"], fixture["lengths"], fixture["scores"], request.eos);
        }
        CHECK(cases > 0);
    }
}

TEST_CASE("200 tokens of beams over a cache are those of transformers, beside unequal prompts and alone") {
    const std::string kind = GENERATE("contiguous", "paged");
    for (const auto& name : test::language_models()) {
        Generating generating(name, kind);
        int longest = 0, cases = 0;
        for (const auto& fixture : test::load_fixture("generation_" + name)) {
            if (!fixture.name.starts_with("beams") || !fixture["prompts"].defined()) continue;
            ++cases;
            const auto options = beams_of(fixture);
            const auto prompts = prompts_of(name, fixture);
            REQUIRE(prompts.size() == 3);
            longest = std::max(longest, fixture["ends"].max().item<int>());
            for (const bool together : {true, false}) {
                INFO(name << " " << fixture.name << " " << kind << (together ? " together" : " alone"));
                auto request = request_of(prompts, fixture["sequences"].size(2));
                request.eos = fixture.numbers["eos"].get<std::int64_t>();
                request.samples = options.beams;
                request.batch = together ? 3 * options.beams : options.beams;
                const auto got = infer::beam_search(*generating.rows, infer::TokenChooser({}), options,
                                                    request, {}, generating.speed);
                for (std::size_t i = 0; i < prompts.size(); ++i) {
                    const auto at = static_cast<std::int64_t>(i);
                    check_beams(got[i], fixture["sequences"][at], fixture["ends"][at], fixture["scores"][at],
                                request.eos);
                }
            }
        }
        CHECK(cases == 2);
        CHECK(longest == 200);
    }
}

TEST_CASE("logits processors leave what those of transformers leave") {
    const std::vector<std::string> order{"repetition_penalty", "temperature", "top_k", "top_p", "min_p"};
    int cases = 0;
    for (const auto& fixture : test::load_fixture("generation_processors")) {
        INFO(fixture.name);
        ++cases;
        const auto logits = fixture["logits"].to(at::kFloat).contiguous();
        std::vector<float> row(logits.const_data_ptr<float>(),
                               logits.const_data_ptr<float>() + logits.numel());
        for (const auto& name : order) {
            if (!fixture.numbers.contains(name)) continue;
            processor_of(name, fixture.numbers[name].get<double>())
                ->apply(row, test::numbers_of(fixture["before"]));
        }
        const auto expected = fixture["processed"].to(at::kFloat).contiguous();
        for (std::size_t i = 0; i < row.size(); ++i) {
            const float value = expected.const_data_ptr<float>()[i];
            if (std::isinf(value))
                CHECK(row[i] == value);
            else
                CHECK(row[i] == Approx(value).epsilon(1e-6));
        }
    }
    CHECK(cases >= 6);
}
