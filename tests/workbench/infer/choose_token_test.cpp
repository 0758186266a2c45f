// Which token comes next, against probabilities made by hand; and what counts as a sample.
#include "core/workbench/infer/choose_token.h"
#include "core/workbench/train/evaluate.h"

#include <cmath>
#include <limits>

#include <switchyard_test.h>

using namespace switchyard;
using infer::choose_token;
using infer::Sampling;

namespace {

// Probabilities 1/8, 2/8, 5/8.
const std::vector<double> logits{std::log(1.0) + 3, std::log(2.0) + 3, std::log(5.0) + 3};

std::vector<std::pair<std::int64_t, double>> chances(const Sampling& sampling) {
    std::vector<std::pair<std::int64_t, double>> result;
    for (const auto& one : infer::candidates(logits, sampling))
        result.emplace_back(one.token, std::round(one.probability * 1e9) / 1e9);
    return result;
}

using Chances = std::vector<std::pair<std::int64_t, double>>;

}  // namespace

TEST_CASE("probabilities are those of the softmax, likeliest first") {
    CHECK(chances({}) == Chances{{2, 0.625}, {1, 0.25}, {0, 0.125}});
    // Divided by 1/2, logits are squares of probabilities: 1, 4, 25 of 30.
    CHECK(chances({.temperature = 0.5}) == Chances{{2, 0.833333333}, {1, 0.133333333}, {0, 0.033333333}});
}

TEST_CASE("top_k and top_p leave the likeliest") {
    CHECK(chances({.top_k = 2}) == Chances{{2, 0.714285714}, {1, 0.285714286}});
    CHECK(chances({.top_k = 5}).size() == 3);
    CHECK(chances({.top_p = 0.6}) == Chances{{2, 1.0}});
    CHECK(chances({.top_p = 0.7}) == Chances{{2, 0.714285714}, {1, 0.285714286}});
    CHECK(chances({.top_p = 0.0}) == Chances{{2, 1.0}});
    CHECK(chances({.top_k = 2, .top_p = 0.72}).size() == 2);
    CHECK(chances({.temperature = 0.0}) == Chances{{2, 1.0}});
}

TEST_CASE("a draw falls into the token's part of the whole") {
    CHECK(choose_token(logits, {}, 0.0) == 2);
    CHECK(choose_token(logits, {}, 0.624) == 2);
    CHECK(choose_token(logits, {}, 0.626) == 1);
    CHECK(choose_token(logits, {}, 0.874) == 1);
    CHECK(choose_token(logits, {}, 0.876) == 0);
    CHECK(choose_token(logits, {}, 0.9999999999999999) == 0);
}

TEST_CASE("of equal logits the first is taken, minus infinity never, and NaN is an error") {
    const double none = -std::numeric_limits<double>::infinity();
    CHECK(choose_token({none, 2.0, 2.0}, {.temperature = 0.0}, 0.9) == 1);
    CHECK(choose_token({none, none, -1e300}, {}, 0.99) == 2);
    CHECK_THROWS_WITH(choose_token({none, none}, {}, 0.5), "no logit is finite");
    CHECK_THROWS_WITH(choose_token({0.0, std::nan("")}, {}, 0.5), "the logit of token 1 is NaN");
}

TEST_CASE("a sample counts once, however many documents it is made of") {
    Batch batch;
    CHECK(train::sample_count(batch) == 0);
    batch.samples = {7, 7, 7, 2, 9, 9};
    CHECK(train::sample_count(batch) == 3);
}
