// Which token comes next, against probabilities made by hand; and what counts as a sample.
#include "core/workbench/infer/choose_token.h"
#include "core/workbench/infer/logits/largest.h"
#include "core/workbench/train/evaluate.h"

#include <cmath>

#include <switchyard_test.h>

using namespace switchyard;
using infer::never;
using infer::Sampling;
using infer::TokenChooser;

namespace {

// Probabilities 1/8, 2/8, 5/8.
const std::vector<float> logits{std::log(1.0F) + 3, std::log(2.0F) + 3, std::log(5.0F) + 3};

using Chances = std::vector<std::pair<std::int64_t, double>>;

Chances chances(const Sampling& sampling, const infer::Ids& tokens = {}) {
    Chances result;
    for (const auto& one : TokenChooser(sampling).candidates(logits, tokens))
        result.emplace_back(one.token, std::round(one.probability * 1e6) / 1e6);
    return result;
}

std::int64_t chosen(const std::vector<float>& row, const Sampling& sampling, double draw) {
    return TokenChooser(sampling).choose(row, {}, draw);
}

}  // namespace

TEST_CASE("probabilities are those of the softmax") {
    CHECK(chances({}) == Chances{{0, 0.125}, {1, 0.25}, {2, 0.625}});
    // Divided by 1/2, logits are squares of probabilities: 1, 4, 25 of 30.
    CHECK(chances({.temperature = 0.5}) == Chances{{0, 0.033333}, {1, 0.133333}, {2, 0.833333}});
}

TEST_CASE("top_k, top_p and min_p leave the likeliest") {
    CHECK(chances({.top_k = 2}) == Chances{{1, 0.285714}, {2, 0.714286}});
    CHECK(chances({.top_k = 5}).size() == 3);
    CHECK(chances({.top_p = 0.6}) == Chances{{2, 1.0}});
    CHECK(chances({.top_p = 0.7}) == Chances{{1, 0.285714}, {2, 0.714286}});
    CHECK(chances({.top_p = 0.0}) == Chances{{2, 1.0}});
    CHECK(chances({.top_k = 2, .top_p = 0.72}).size() == 2);
    CHECK(chances({.min_p = 0.3}) == Chances{{1, 0.285714}, {2, 0.714286}});
    CHECK(chances({.min_p = 1.0}) == Chances{{2, 1.0}});
    CHECK(chances({.temperature = 0.0}) == Chances{{2, 1.0}});
}

TEST_CASE("a repetition penalty reaches every way of choosing") {
    // 3 + ln 5 = 4.61 becomes 2.30, below 3 + ln 2 = 3.69.
    CHECK(chances({.temperature = 0.0, .repetition_penalty = 2.0}, {2}) == Chances{{1, 1.0}});
    CHECK(chances({.top_k = 1, .repetition_penalty = 2.0}, {2}) == Chances{{1, 1.0}});
}

TEST_CASE("a draw falls into the token's part of the whole") {
    CHECK(chosen(logits, {}, 0.0) == 0);
    CHECK(chosen(logits, {}, 0.124) == 0);
    CHECK(chosen(logits, {}, 0.126) == 1);
    CHECK(chosen(logits, {}, 0.374) == 1);
    CHECK(chosen(logits, {}, 0.376) == 2);
    CHECK(chosen(logits, {}, 0.9999999999999999) == 2);
}

TEST_CASE("of equal logits the first is taken, minus infinity never, and NaN is an error") {
    CHECK(chosen({never, 2.0F, 2.0F}, {.temperature = 0.0}, 0.9) == 1);
    CHECK(chosen({never, never, -1e30F}, {}, 0.99) == 2);
    CHECK(chosen({1.0F, never}, {}, 0.9999999999999999) == 0);
    CHECK_THROWS_WITH(chosen({never, never}, {}, 0.5), "no logit is finite");
    CHECK_THROWS_WITH(chosen({0.0F, std::nanf("")}, {}, 0.5), "the logit of token 1 is NaN");
}

TEST_CASE("forbidden tokens are never drawn, and where there are no others that is an error") {
    const TokenChooser chooser({}, {{2}, 2});
    CHECK(chooser.choose(logits, {}, 0.9999) == 1);
    const TokenChooser nothing({.temperature = 0.0}, {{0, 1, 2}});
    CHECK_THROWS_WITH(nothing.choose(logits, {}, 0.5),
                      "no token may come: all that the model knows are forbidden");
}

TEST_CASE("beams are scored by the logarithms of all probabilities, forbidden ones taken out after") {
    const TokenChooser chooser({.temperature = 0.5, .top_k = 1, .repetition_penalty = 2.0}, {{1}});
    const auto scores = chooser.log_probabilities(logits, {0});
    CHECK(scores[0] == Approx(2.0 * std::log(0.125)));
    CHECK(scores[1] == never);
    CHECK(scores[2] == Approx(std::log(0.625)));
}

TEST_CASE("a sample counts once, however many documents it is made of") {
    Batch batch;
    CHECK(train::sample_count(batch) == 0);
    batch.samples = {7, 7, 7, 2, 9, 9};
    CHECK(train::sample_count(batch) == 3);
}
