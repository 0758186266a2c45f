// Scores of predicted numbers, against scikit-learn's and SciPy's.
#include "core/workbench/score/regression_metrics.h"

#include <cmath>
#include <limits>

#include "score_fixture.h"

using namespace switchyard;
using score::RegressionColumn;
using test::metric;
using test::near;

TEST_CASE("scores of a regression are scikit-learn's and SciPy's, and left out where they are not defined") {
    for (const auto& one : test::score_cases("regression")) {
        INFO(one["name"]);
        RegressionColumn column;
        for (std::size_t i = 0; i < one["right"].size(); ++i)
            column.add(one["told"][i].get<double>(), one["right"][i].get<double>());
        const auto metrics = score::regression_metrics({column}, {"y"});
        CHECK(metric(metrics, "rmse") == near(std::sqrt(one["mse"].get<double>())));
        std::size_t defined = 1;
        for (const char* const name : {"mse", "mae", "pearson", "spearman", "r2"}) {
            INFO(name);
            CHECK(test::found_metric(metrics, name).has_value() == !one[name].is_null());
            if (one[name].is_null()) continue;
            CHECK(metric(metrics, name) == near(one[name].get<double>()));
            ++defined;
        }
        CHECK(metrics.size() == defined);
    }
}

TEST_CASE("a correlation survives large offsets") {
    RegressionColumn far;
    for (const double x : {1.0, 2.0, 4.0}) far.add(1e9 + 2.0 * x, -1e9 - x);
    CHECK(far.pearson() == near(-1.0));
    CHECK(far.spearman() == near(-1.0));
}

TEST_CASE("a prediction that is not a number leaves no correlation") {
    RegressionColumn column;
    for (const double x : {1.0, std::numeric_limits<double>::quiet_NaN(), 3.0}) column.add(x, 2.0 * x);
    CHECK(std::isnan(column.spearman()));
    CHECK(std::isnan(column.pearson()));
    RegressionColumn infinite;
    for (const double x : {1.0, std::numeric_limits<double>::infinity(), 3.0})
        infinite.add(x, x < 2.0 ? 1.0 : x);
    CHECK(infinite.spearman() == near(1.0));
}

TEST_CASE("of several columns there are the means and each") {
    RegressionColumn a, b;
    a.add(1.0, 2.0), a.add(2.0, 4.0);
    b.add(0.0, 4.0), b.add(1.0, 1.0);
    const auto metrics = score::regression_metrics({a, b}, {"a", "b"});
    CHECK(metric(metrics, "mae/a") == near(1.5));
    CHECK(metric(metrics, "mae/b") == near(2.0));
    CHECK(metric(metrics, "mae") == near(1.75));
    CHECK(metric(metrics, "spearman/a") == near(1.0));
    CHECK(metric(metrics, "spearman/b") == near(-1.0));
    CHECK(metric(metrics, "spearman") == near(0.0));
}
