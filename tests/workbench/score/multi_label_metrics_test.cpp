// Scores of labels that do not exclude each other, against scikit-learn's and sums written out.
#include "core/workbench/score/multi_label_metrics.h"

#include <limits>

#include "score_fixture.h"

using namespace switchyard;
using test::metric;
using test::near;

TEST_CASE("scores of labels that do not exclude each other are scikit-learn's") {
    for (const auto& one : test::score_cases("multi_label")) {
        INFO(one["name"]);
        const auto told = one["told"].get<std::vector<std::vector<double>>>();
        const auto right = one["right"].get<std::vector<std::vector<double>>>();
        score::MultiLabelCounts counts(right[0].size());
        for (std::size_t i = 0; i < right.size(); ++i) {
            auto logits = told[i];
            for (auto& logit : logits) logit -= 0.5;
            counts.add(logits, right[i]);
        }
        const auto metrics = counts.metrics({"a", "b", "c", "d"});
        for (const char* const name : {"micro_f1", "macro_f1", "exact_match"})
            CHECK(metric(metrics, name) == near(one[name].get<double>()));
    }
}

TEST_CASE("each label has an accuracy of its own") {
    score::MultiLabelCounts counts(3);
    const std::vector<std::vector<double>> logits{{1, -1, 2}, {-1, 1, -1}, {2, 2, -2}, {-3, -1, -1}};
    const std::vector<std::vector<double>> right{{1, 0, 1}, {0, 1, 1}, {1, 0, 0}, {0, 0, 0}};
    for (std::size_t i = 0; i < 4; ++i) counts.add(logits[i], right[i]);
    const auto metrics = counts.metrics({"a", "b", "c"});
    CHECK(metric(metrics, "label_accuracy") == near(10.0 / 12.0));
    CHECK(metric(metrics, "accuracy/a") == 1.0);
    CHECK(metric(metrics, "accuracy/b") == 0.75);
}

TEST_CASE("labels that a sample does not have do not count") {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    score::MultiLabelCounts counts(2);
    counts.add(std::vector{1.0, 1.0}, std::vector{1.0, none});
    counts.add(std::vector{1.0, -1.0}, std::vector{none, 1.0});
    const auto metrics = counts.metrics({"a", "b"});
    CHECK(metric(metrics, "accuracy/a") == 1.0);
    CHECK(metric(metrics, "accuracy/b") == 0.0);
    CHECK(metric(metrics, "label_accuracy") == 0.5);
    CHECK(metric(metrics, "exact_match") == 0.5);
}
