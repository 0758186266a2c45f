// Beam search with a made-up model of few tokens, against all texts that there are.
#include "core/workbench/infer/beam_search.h"
#include "scripted_rows.h"

#include <cmath>

#include <switchyard_test.h>

using namespace switchyard;
using infer::End;
using infer::Ids;
using test::ScriptedRows;

namespace {

constexpr std::int64_t vocabulary = 4;
constexpr std::int64_t eos = 0;

infer::GenerationRequest request_of(std::vector<infer::Beginning> prompts, std::int64_t tokens,
                                    std::int64_t samples) {
    infer::GenerationRequest request;
    request.prompts = std::move(prompts);
    request.batch = 1;
    request.max_tokens = tokens;
    request.max_length = 100;
    request.samples = samples;
    request.eos = eos;
    return request;
}

std::vector<double> log_softmax(const std::vector<float>& logits) {
    double sum = 0.0;
    for (const auto logit : logits) sum += std::exp(static_cast<double>(logit));
    std::vector<double> result;
    for (const auto logit : logits) result.push_back(static_cast<double>(logit) - std::log(sum));
    return result;
}

// Every text of at most `left` more tokens, with its score.
void all_texts(const ScriptedRows::Script& model, const infer::Beginning& row, const Ids& ids, double sum,
               std::int64_t left, double penalty, std::vector<std::pair<double, Ids>>& found) {
    const auto scores = log_softmax(model(row));
    for (std::int64_t token = 0; token < vocabulary; ++token) {
        const auto score = sum + scores[static_cast<std::size_t>(token)];
        const auto length = static_cast<double>(ids.size() + 1);
        auto longer = ids;
        if (token != eos) longer.push_back(token);
        if (token == eos || left == 1) {
            found.emplace_back(score / std::pow(length, penalty), longer);
            continue;
        }
        auto next = row;
        next.grown.push_back(token);
        all_texts(model, next, longer, score, left - 1, penalty, found);
    }
}

infer::GeneratedSamples searched(const ScriptedRows::Script& model, const infer::GenerationRequest& request,
                                 const infer::BeamOptions& options,
                                 const infer::GenerationHooks& hooks = {}) {
    ScriptedRows rows(model);
    infer::GenerationSpeed speed;
    return infer::beam_search(rows, infer::TokenChooser({}), options, request, hooks, speed);
}

}  // namespace

TEST_CASE("with as many beams as there are texts the best of all texts come, in their order") {
    for (const std::uint64_t number : {1U, 2U, 3U, 4U, 5U}) {
        for (const double penalty : {0.0, 1.0, 2.0, -1.0}) {
            INFO(number << " " << penalty);
            const auto model = test::random_model(vocabulary, number);
            const infer::Beginning prompt{{}, {1, 2}};
            std::vector<std::pair<double, Ids>> all;
            all_texts(model, prompt, {}, 0.0, 4, penalty, all);
            std::ranges::sort(all, std::greater<>());
            const auto best = searched(model, request_of({prompt}, 4, 6), {256, penalty, false});
            REQUIRE(best[0].size() == 6);
            for (std::size_t i = 0; i < 6; ++i) {
                CHECK(best[0][i].ids == all[i].second);
                CHECK(best[0][i].score == Approx(all[i].first).epsilon(1e-6));
            }
        }
    }
}

TEST_CASE("one beam is greedy") {
    const auto model = test::random_model(vocabulary, 11);
    const auto best = searched(model, request_of({{{}, {3}}}, 6, 1), {1, 1.0, false});
    infer::Beginning row{{}, {3}};
    Ids expected;
    while (expected.size() < 6) {
        const auto logits = model(row);
        const auto token = std::max_element(logits.begin(), logits.end()) - logits.begin();
        if (token == eos) break;
        expected.push_back(token);
        row.grown.push_back(token);
    }
    CHECK(best[0][0].ids == expected);
}

TEST_CASE("a beam finds what greedy misses") {
    // The likeliest first token leads nowhere: 0.6 * 0.4 * ... against 0.4 * 1.
    const auto model = [](const infer::Beginning& row) -> std::vector<float> {
        if (row.grown.size() == 1) return {-9.0F, std::log(0.6F), std::log(0.4F), -9.0F};
        if (row.grown[1] == 1) return {std::log(0.4F), std::log(0.3F), std::log(0.3F), -9.0F};
        return {5.0F, -5.0F, -5.0F, -5.0F};
    };
    const auto request = request_of({{{}, {3}}}, 2, 1);
    CHECK(searched(model, request, {1, 0.0, false})[0][0].ids == Ids{1});
    CHECK(searched(model, request, {2, 0.0, false})[0][0].ids == Ids{2});
}

TEST_CASE("prompts searched beside one another give what each gives alone") {
    const auto model = test::random_model(9, 21);
    const std::vector<infer::Beginning> prompts{{{}, {1, 2, 3}}, {{}, {4}}, {{7, 8}, {1}}, {{}, {5, 5}}};
    auto request = request_of(prompts, 7, 3);
    request.batch = 12;
    const infer::BeamOptions options{4, 1.0, false};
    const auto together = searched(model, request, options);
    for (std::size_t p = 0; p < prompts.size(); ++p) {
        const auto alone = searched(model, request_of({prompts[p]}, 7, 3), options);
        REQUIRE(together[p].size() == 3);
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK(together[p][i].ids == alone[0][i].ids);
            CHECK(together[p][i].score == alone[0][i].score);
            if (i > 0) CHECK(together[p][i].score <= together[p][i - 1].score);
        }
    }
}

TEST_CASE("early stopping ends with the first texts that have ended") {
    // Each text may end at once with 0.5, or go on with 0.5 to what is certain and longer: better by length.
    const auto model = [](const infer::Beginning& row) -> std::vector<float> {
        if (row.grown.size() < 3) return {0.0F, 0.0F, -1.0F, -1.0F};
        return {5.0F, -5.0F, -5.0F, -5.0F};
    };
    const auto request = request_of({{{}, {3}}}, 8, 2);
    const auto early = searched(model, request, {2, 2.0, true});
    const auto late = searched(model, request, {2, 2.0, false});
    CHECK(late[0][0].score >= early[0][0].score);
    CHECK(late[0][0].ids.size() >= early[0][0].ids.size());
}

TEST_CASE("a text that stops ends its beam, and who interrupts gets the likeliest by then") {
    const auto model = test::random_model(vocabulary, 31);
    auto request = request_of({{{}, {1}}}, 8, 2);
    request.eos = -1;
    infer::GenerationHooks hooks;
    hooks.ended = [](std::size_t, std::size_t, const Ids& ids) { return ids.size() == 3; };
    const auto stopped = searched(model, request, {3, 1.0, false}, hooks);
    for (const auto& one : stopped[0]) {
        CHECK(one.end == End::stop);
        CHECK(one.ids.size() == 3);
    }
    int asked = 0;
    hooks = {};
    hooks.interrupted = [&] { return ++asked > 4; };
    const auto cut = searched(model, request, {3, 1.0, false}, hooks)[0];
    REQUIRE(cut.size() == 2);
    CHECK(cut[0].end == End::interrupted);
    CHECK(cut[0].ids.size() < 8);
}
