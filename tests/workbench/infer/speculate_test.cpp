// Speculative decoding with made-up models: greedy texts are those without a draft, and drawn ones have the
// distribution of the large model alone.
#include "core/workbench/infer/speculate.h"
#include "core/workbench/infer/sample_rows.h"
#include "scripted_rows.h"

#include <cmath>
#include <map>

#include <switchyard_test.h>

using namespace switchyard;
using infer::Ids;
using test::ScriptedRows;

namespace {

infer::GenerationRequest request_of(std::vector<infer::Beginning> prompts, std::int64_t tokens) {
    infer::GenerationRequest request;
    request.prompts = std::move(prompts);
    request.max_tokens = tokens;
    request.max_length = 64;
    request.seed = 3;
    request.eos = 0;
    return request;
}

struct Speculated {
    infer::GeneratedSamples samples;
    infer::Speculation told;
    std::size_t steps;  // of the large model
    std::size_t longest_draft;
};

Speculated speculated(const ScriptedRows::Script& large, const ScriptedRows::Script& small,
                      const infer::GenerationRequest& request, const infer::Sampling& sampling,
                      std::int64_t tokens = 4, std::int64_t draft_length = 64) {
    ScriptedRows rows(large), draft(small);
    infer::GenerationSpeed speed;
    Speculated result;
    result.samples = infer::speculate(rows, {draft, draft_length, tokens}, infer::TokenChooser(sampling),
                                      request, {}, speed, result.told);
    result.steps = rows.appended;
    result.longest_draft = draft.longest;
    CHECK(rows.longest <= static_cast<std::size_t>(request.max_length));
    return result;
}

infer::GeneratedSamples alone(const ScriptedRows::Script& large, const infer::GenerationRequest& request,
                              const infer::Sampling& sampling) {
    ScriptedRows rows(large);
    infer::GenerationSpeed speed;
    return infer::sample_rows(rows, infer::TokenChooser(sampling), request, {}, speed);
}

// A model that is another in one of four rows.
ScriptedRows::Script nearly(const ScriptedRows::Script& model, const ScriptedRows::Script& other) {
    return [=](const infer::Beginning& row) { return row.grown.back() % 4 == 3 ? other(row) : model(row); };
}

const infer::Sampling greedy{.temperature = 0.0};
const std::vector<infer::Beginning> drafted_prompts{
    {{}, {1, 2}}, {{}, {3}}, {{5, 6}, {1}}, {{}, {8, 8, 8, 2}}};

}  // namespace

TEST_CASE("greedy texts are those without a draft, whatever the draft is") {
    const auto large = test::random_model(12, 1), other = test::random_model(12, 2);
    for (const auto& draft : {large, other, nearly(large, other)}) {
        for (const std::int64_t tokens : {1, 2, 4, 9}) {
            for (const std::int64_t room : {0, 25}) {
                INFO(tokens << " " << room);
                const auto request = request_of(drafted_prompts, room);
                const auto expected = alone(large, request, greedy);
                const auto got = speculated(large, draft, request, greedy, tokens);
                for (std::size_t p = 0; p < drafted_prompts.size(); ++p) {
                    CHECK(got.samples[p][0].ids == expected[p][0].ids);
                    CHECK(got.samples[p][0].end == expected[p][0].end);
                }
            }
        }
    }
}

TEST_CASE("a draft that is right saves steps of the large model, and what is told says so") {
    const auto large = test::random_model(12, 1);
    auto request = request_of({{{}, {3}}}, 40);
    request.eos = -1;
    const auto right = speculated(large, large, request, greedy, 4);
    CHECK(right.told.accepted == right.told.drafted);
    CHECK(right.told.acceptance() == 1.0);
    CHECK(right.steps <= 9);  // 40 tokens: the first, and five a step
    const auto wrong = speculated(large, test::random_model(12, 2), request, greedy, 4);
    CHECK(wrong.told.acceptance() < 0.6);
    CHECK(wrong.told.rounds <= static_cast<std::int64_t>(wrong.steps));
}

TEST_CASE("a draft that has fewer positions drafts as far as they go") {
    const auto large = test::random_model(12, 1);
    auto request = request_of({{{}, {3}}}, 30);
    request.eos = -1;
    for (const std::int64_t room : {0, 1, 5, 12}) {
        const auto got = speculated(large, large, request, greedy, 4, room);
        CHECK(got.samples[0][0].ids == alone(large, request, greedy)[0][0].ids);
        CHECK(got.longest_draft <= static_cast<std::size_t>(room));
    }
}

TEST_CASE("drawn texts have the distribution of the large model") {
    constexpr std::int64_t vocabulary = 3, length = 3;
    const auto large = test::random_model(vocabulary, 5, 1.5), small = test::random_model(vocabulary, 6, 1.5);
    const infer::Sampling sampling{.temperature = 0.8, .top_p = 0.95, .repetition_penalty = 1.1};
    auto request = request_of({{{}, {1}}}, length);
    request.eos = -1;
    request.samples = 20000;
    const auto got = speculated(large, small, request, sampling, 2);
    std::map<Ids, double> counts;
    for (const auto& one : got.samples[0]) ++counts[one.ids];

    // The probability of each text from the large model, token by token.
    const infer::TokenChooser chooser(sampling);
    std::map<Ids, double> expected{{{}, 1.0}};
    for (std::int64_t i = 0; i < length; ++i) {
        std::map<Ids, double> longer;
        for (const auto& [ids, probability] : expected) {
            infer::Beginning row{{}, {1}};
            row.grown.insert(row.grown.end(), ids.begin(), ids.end());
            for (const auto& one : chooser.candidates(large(row), row.grown)) {
                auto next = ids;
                next.push_back(one.token);
                longer[next] += probability * one.probability;
            }
        }
        expected = std::move(longer);
    }
    double chi_square = 0.0, cells = 0.0;
    for (const auto& [ids, probability] : expected) {
        const double mean = probability * 20000.0;
        REQUIRE(mean > 1.0);
        chi_square += std::pow(counts[ids] - mean, 2.0) / mean;
        cells += 1.0;
        counts.erase(ids);
    }
    CHECK(counts.empty());  // nothing came that cannot
    // The 0.9999 quantile by Wilson and Hilferty.
    const double freedom = cells - 1.0, part = 2.0 / (9.0 * freedom);
    CHECK(chi_square < freedom * std::pow(1.0 - part + 3.72 * std::sqrt(part), 3.0));
    CHECK(got.told.accepted > 0);
    CHECK(got.told.accepted < got.told.drafted);
}

TEST_CASE("a sample with a draft depends on the seed and its number alone") {
    const auto large = test::random_model(12, 1), small = test::random_model(12, 2);
    auto request = request_of(drafted_prompts, 10);
    request.samples = 3;
    const auto all = speculated(large, small, request, {}).samples;
    const auto one = speculated(large, small, request_of({drafted_prompts[2]}, 10), {}).samples;
    CHECK(one[0][0].ids == all[2][0].ids);
    CHECK(all[0][0].ids != all[0][1].ids);
}

TEST_CASE("what is drawn after a rejection is what the large model has more of") {
    const infer::Candidates p{{0, 0.5}, {1, 0.3}, {2, 0.2}}, q{{0, 0.7}, {2, 0.1}, {5, 0.2}};
    CHECK(infer::drawn_from_rest(p, q, 0.0) == 1);
    CHECK(infer::drawn_from_rest(p, q, 0.74) == 1);
    CHECK(infer::drawn_from_rest(p, q, 0.76) == 2);
    CHECK(infer::drawn_from_rest(p, p, 0.6) == 1);
}
