// What each logits processor leaves, against a plain implementation that sorts everything in float64; and the
// selection that they use. Against transformers: transformers_generation_test.cpp.
#include "core/workbench/data/splitmix64.h"
#include "core/workbench/infer/logits/finite_logits.h"
#include "core/workbench/infer/logits/forbidden_tokens.h"
#include "core/workbench/infer/logits/largest.h"
#include "core/workbench/infer/logits/min_p.h"
#include "core/workbench/infer/logits/repetition_penalty.h"
#include "core/workbench/infer/logits/temperature.h"
#include "core/workbench/infer/logits/top_k.h"
#include "core/workbench/infer/logits/top_p.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include <switchyard_test.h>

using namespace switchyard;
using infer::Ids;
using infer::never;
using Row = std::vector<float>;

namespace {

// Rounded to steps, so that some are equal; some are -inf.
Row random_row(std::size_t size, std::uint64_t seed, bool holes) {
    data::SplitMix64 random(seed, 0, 0);
    Row row;
    for (std::size_t i = 0; i < size; ++i) {
        const auto value = std::round((random.share() * 12.0 - 6.0) * 8.0) / 8.0;
        row.push_back(holes && random.share() < 0.2 ? never : static_cast<float>(value));
    }
    if (row[0] == never) row[0] = 0.0F;
    return row;
}

Row applied(const infer::LogitsProcessor& processor, Row row, const Ids& tokens = {}) {
    processor.apply(row, tokens);
    return row;
}

std::vector<std::size_t> sorted_indices(const Row& row) {
    std::vector<std::size_t> order(row.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return row[a] > row[b]; });
    return order;
}

std::vector<double> softmax(const Row& row) {
    const double most = *std::max_element(row.begin(), row.end());
    std::vector<double> all;
    double sum = 0.0;
    for (const auto value : row) sum += all.emplace_back(std::exp(static_cast<double>(value) - most));
    for (auto& value : all) value /= sum;
    return all;
}

Row kept_where(const Row& row, const std::function<bool(std::size_t)>& keep) {
    auto result = row;
    for (std::size_t i = 0; i < row.size(); ++i)
        if (!keep(i)) result[i] = never;
    return result;
}

}  // namespace

TEST_CASE("the largest are those of a full sort, in its order") {
    for (const std::size_t size : {1U, 7U, 100U, 3000U}) {
        const bool holes = GENERATE(false, true);
        const auto row = random_row(size, size, holes);
        auto order = sorted_indices(row);
        std::erase_if(order, [&](auto i) { return row[i] == never; });
        CHECK(infer::index_of_largest(row) == static_cast<std::int64_t>(order[0]));
        for (const std::size_t count : {0U, 1U, 2U, 5U, 40U, 2000U, 5000U}) {
            INFO(size << " " << count << " " << holes);
            std::vector<std::int64_t> expected(
                order.begin(), order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size())));
            CHECK(infer::largest(row, count) == expected);
        }
    }
    CHECK(infer::index_of_largest(Row{never, never}) == -1);
    CHECK(infer::largest(Row{never, never}, 2).empty());
}

TEST_CASE("top-k keeps those that are as likely as the k-th") {
    const auto row = random_row(500, 3, GENERATE(false, true));
    const auto order = sorted_indices(row);
    for (const std::int64_t k : {1, 2, 17, 100, 499, 500, 900}) {
        INFO(k);
        const auto least = row[order[static_cast<std::size_t>(std::min<std::int64_t>(k, 500) - 1)]];
        CHECK(applied(infer::TopK(k), row) == kept_where(row, [&](auto i) { return row[i] >= least; }));
    }
}

TEST_CASE("top-p keeps the fewest of the likeliest that reach the share") {
    for (const std::size_t size : {5U, 300U, 5000U}) {
        const auto row = random_row(size, 4, GENERATE(false, true));
        const auto order = sorted_indices(row);
        const auto probabilities = softmax(row);
        for (const double p : {0.0, 0.1, 0.503, 0.9, 0.99, 0.9999}) {
            INFO(size << " " << p);
            std::set<std::size_t> kept;
            double share = 0.0;
            for (const auto i : order) {
                if (!kept.empty() && share >= p) break;
                kept.insert(i);
                share += probabilities[i];
            }
            CHECK(applied(infer::TopP(p), row) == kept_where(row, [&](auto i) { return kept.contains(i); }));
        }
        CHECK(applied(infer::TopP(1.0), row) == row);
    }
}

TEST_CASE("min-p keeps what is at least so many times as likely as the likeliest") {
    const auto row = random_row(400, 5, GENERATE(false, true));
    const auto probabilities = softmax(row);
    const double most = *std::max_element(probabilities.begin(), probabilities.end());
    for (const double p : {0.001, 0.05, 0.3, 0.77})
        CHECK(applied(infer::MinP(p), row) ==
              kept_where(row, [&](auto i) { return probabilities[i] >= p * most && row[i] != never; }));
    const auto best = *std::max_element(row.begin(), row.end());
    CHECK(applied(infer::MinP(1.0), row) == kept_where(row, [&](auto i) { return row[i] == best; }));
}

TEST_CASE("a repetition penalty divides what is positive and multiplies what is negative, once a token") {
    CHECK(applied(infer::RepetitionPenalty(2.0), {4.0F, -4.0F, 3.0F, never, 0.0F}, {1, 0, 1, 3, 4, 99}) ==
          Row{2.0F, -8.0F, 3.0F, never, 0.0F});
}

TEST_CASE("a temperature divides, and never makes what is finite infinite") {
    CHECK(applied(infer::Temperature(0.5), {1.0F, -2.0F, never}) == Row{2.0F, -4.0F, never});
    const auto cold = applied(infer::Temperature(1e-300), {80.0F, 80.0F, 79.0F, never});
    CHECK(cold[0] == 0.0F);
    CHECK(cold[1] == 0.0F);
    CHECK(cold[2] < -1e30F);
}

TEST_CASE("forbidden tokens never come, nor does what the tokenizer has not") {
    CHECK(applied(infer::ForbiddenTokens({1, -1, 7}, 3), {1.0F, 2.0F, 3.0F, 4.0F, 5.0F}) ==
          Row{1.0F, never, 3.0F, never, never});
}

TEST_CASE("logits that are no numbers are an error that says which, and after what") {
    const float infinity = std::numeric_limits<float>::infinity();
    CHECK_NOTHROW(infer::require_finite(Row{never, 1.0F}, {}));
    CHECK_THROWS_WITH(infer::require_finite(Row{0.0F, std::nanf("")}, {}), "the logit of token 1 is NaN");
    CHECK_THROWS_WITH(infer::require_finite(Row{infinity, 0.0F}, {}), "the logit of token 0 is Inf");
    CHECK_THROWS_WITH(infer::require_finite(Row{never, never}, {}), "no logit is finite");
    try {
        infer::require_finite(Row{std::nanf("")}, {4, 5});
        FAIL("it is NaN");
    } catch (const infer::NonfiniteLogits& error) {
        CHECK(error.tokens() == Ids{4, 5});
    }
}
