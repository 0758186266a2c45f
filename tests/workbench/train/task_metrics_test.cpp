// What an evaluation says of numbers, of labels that do not exclude each other and of entities, against sums
// written out and the definitions of scikit-learn and seqeval.
#include "core/workbench/train/entity_metrics.h"
#include "core/workbench/train/label_scale_file.h"
#include "core/workbench/train/multi_label_metrics.h"
#include "core/workbench/train/regression_metrics.h"

#include <cmath>
#include <fstream>
#include <limits>

#include <switchyard_test.h>

using namespace switchyard;
using test::Approx;

namespace {

double metric(const train::Metrics& metrics, const std::string& name) {
    for (const auto& [key, value] : metrics)
        if (key == name) return value;
    FAIL("there is no " + name);
    return 0.0;
}

bool has(const train::Metrics& metrics, const std::string& name) {
    for (const auto& [key, value] : metrics)
        if (key == name) return true;
    return false;
}

constexpr double none = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("errors of a regression are the textbook's") {
    const std::vector<double> predicted{2.5, 0.0, 2.0, 8.0}, right{3.0, -0.5, 2.0, 7.0};
    train::RegressionColumn column;
    for (std::size_t i = 0; i < 4; ++i) column.add(predicted[i], right[i]);
    const auto metrics = train::regression_metrics({column}, {"y"});
    CHECK(metric(metrics, "mse") == Approx(0.375));
    CHECK(metric(metrics, "rmse") == Approx(std::sqrt(0.375)));
    CHECK(metric(metrics, "mae") == Approx(0.5));
    CHECK(metric(metrics, "r2") == Approx(0.9486081370449679));
    CHECK(metric(metrics, "pearson") == Approx(0.9848696184482703));
    CHECK(metrics.size() == 5);
}

TEST_CASE("a correlation survives large offsets, and is left out where nothing varies") {
    train::RegressionColumn far;
    for (const double x : {1.0, 2.0, 4.0}) far.add(1e9 + 2.0 * x, -1e9 - x);
    CHECK(far.pearson() == Approx(-1.0));
    train::RegressionColumn flat;
    flat.add(1.0, 5.0);
    flat.add(2.0, 5.0);
    const auto metrics = train::regression_metrics({flat}, {"y"});
    CHECK_FALSE(has(metrics, "pearson"));
    CHECK_FALSE(has(metrics, "r2"));
    CHECK(metric(metrics, "mae") == Approx(3.5));
}

TEST_CASE("of several columns there are the means and each") {
    train::RegressionColumn a, b;
    a.add(1.0, 2.0), a.add(2.0, 4.0);
    b.add(0.0, 4.0), b.add(1.0, 1.0);
    const auto metrics = train::regression_metrics({a, b}, {"a", "b"});
    CHECK(metric(metrics, "mae/a") == Approx(1.5));
    CHECK(metric(metrics, "mae/b") == Approx(2.0));
    CHECK(metric(metrics, "mae") == Approx(1.75));
}

TEST_CASE("F1 of labels is scikit-learn's") {
    train::MultiLabelCounts counts(3);
    const std::vector<std::vector<double>> logits{{1, -1, 2}, {-1, 1, -1}, {2, 2, -2}, {-3, -1, -1}};
    const std::vector<std::vector<double>> right{{1, 0, 1}, {0, 1, 1}, {1, 0, 0}, {0, 0, 0}};
    for (std::size_t i = 0; i < 4; ++i) counts.add(logits[i], right[i]);
    const auto metrics = counts.metrics({"a", "b", "c"});
    // Label a: 2 right. b: 1 right, 1 told wrongly. c: 1 right, 1 missed.
    CHECK(metric(metrics, "micro_f1") == Approx(8.0 / 10.0));
    CHECK(metric(metrics, "macro_f1") == Approx((1.0 + 2.0 / 3.0 + 2.0 / 3.0) / 3.0));
    CHECK(metric(metrics, "exact_match") == Approx(0.5));
    CHECK(metric(metrics, "label_accuracy") == Approx(10.0 / 12.0));
    CHECK(metric(metrics, "accuracy/a") == Approx(1.0));
    CHECK(metric(metrics, "accuracy/b") == Approx(0.75));
}

TEST_CASE("entities are taken as seqeval takes them") {
    using train::Entity;
    using List = std::vector<Entity>;
    CHECK((train::entities_of({"O", "B-PER", "I-PER", "O", "B-LOC"}) == List{{"PER", 1, 3}, {"LOC", 4, 5}}));
    CHECK((train::entities_of({"B-PER", "B-PER"}) == List{{"PER", 0, 1}, {"PER", 1, 2}}));
    CHECK((train::entities_of({"I-PER", "I-LOC", "I-LOC"}) == List{{"PER", 0, 1}, {"LOC", 1, 3}}));
    CHECK((train::entities_of({"B-PER", "I-LOC"}) == List{{"PER", 0, 1}, {"LOC", 1, 2}}));
    CHECK(train::entities_of({"O", "O"}).empty());
    // seqeval's own example: f1_score is 0.5.
    train::EntityCounts counts;
    counts.add({"O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"},
               {"O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"});
    counts.add({"B-PER", "I-PER", "O"}, {"B-PER", "I-PER", "O"});
    CHECK(metric(counts.metrics(), "entity_f1") == Approx(0.5));
    CHECK(metric(counts.metrics(), "entity_precision") == Approx(0.5));
    CHECK(metric(counts.metrics(), "entity_recall") == Approx(0.5));
    CHECK(metric(train::EntityCounts().metrics(), "entity_f1") == 0.0);
}

TEST_CASE("labels that a sample does not have do not count") {
    train::MultiLabelCounts counts(2);
    counts.add(std::vector{1.0, 1.0}, std::vector{1.0, none});
    counts.add(std::vector{1.0, -1.0}, std::vector{none, 1.0});
    const auto metrics = counts.metrics({"a", "b"});
    CHECK(metric(metrics, "accuracy/a") == 1.0);
    CHECK(metric(metrics, "accuracy/b") == 0.0);
    CHECK(metric(metrics, "label_accuracy") == 0.5);
    CHECK(metric(metrics, "exact_match") == 0.5);
}

TEST_CASE("the scale of labels comes back from its file to the last bit, or is refused with a reason") {
    const auto path = (test::temporary_dir("label_scale") / "label_scale.json").string();
    const data::LabelScale scale{{0.1, -1e300}, {1.0 / 3.0, 5e-324}};
    const std::vector<std::string> names{"logp", "a \"b\""};
    std::ofstream(path) << train::label_scale_text(scale, names);
    CHECK(train::read_label_scale(path, names) == scale);
    CHECK_THROWS_WITH(train::read_label_scale(path, {"logp", "c"}),
                      test::contains("has the column 'a \"b\"' at 2, expected 'c'"));
    CHECK_THROWS_WITH(train::read_label_scale(path, {"logp"}), test::contains("expected no more"));
    CHECK_THROWS_WITH(train::read_label_scale(path, {"logp", "a \"b\"", "c"}),
                      test::contains("has 2 columns, expected 3"));
    CHECK_THROWS_WITH(train::read_label_scale(path + "x", names), test::contains("is not there"));
    std::ofstream(path) << R"({"columns": [{"name": "logp", "mean": 1, "deviation": 0}]})";
    CHECK_THROWS_WITH(train::read_label_scale(path, {"logp"}), test::contains("not above 0"));
    std::ofstream(path) << R"({"columns": [{"name": "logp", "mean": "x"}]})";
    CHECK_THROWS_WITH(train::read_label_scale(path, {"logp"}), test::contains("\"mean\" is a text"));
}
