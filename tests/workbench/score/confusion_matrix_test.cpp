// Scores of labels that exclude each other, against scikit-learn's.
#include "core/workbench/score/confusion_matrix.h"

#include "score_fixture.h"

using namespace switchyard;
using score::ConfusionMatrix;
using test::metric;
using test::near;

namespace {

std::vector<std::string> names(std::size_t classes) {
    std::vector<std::string> list;
    for (std::size_t i = 0; i < classes; ++i) list.push_back("c" + std::to_string(i));
    return list;
}

ConfusionMatrix matrix_of(const nlohmann::json& one) {
    ConfusionMatrix matrix(names(one["classes"].get<std::size_t>()));
    for (std::size_t i = 0; i < one["right"].size(); ++i)
        matrix.add(one["right"][i].get<std::size_t>(), one["told"][i].get<std::size_t>());
    return matrix;
}

void check_means(const score::ClassMeans& means, const nlohmann::json& expected) {
    CHECK(means.precision == near(expected[0].get<double>()));
    CHECK(means.recall == near(expected[1].get<double>()));
    CHECK(means.f1 == near(expected[2].get<double>()));
}

}  // namespace

TEST_CASE("scores of classes are scikit-learn's") {
    for (const auto& one : test::score_cases("classification")) {
        INFO(one["name"]);
        const auto matrix = matrix_of(one);
        const auto classes = one["classes"].get<std::size_t>();
        REQUIRE(matrix.labels().size() == classes);
        CHECK(matrix.total() == static_cast<std::int64_t>(one["right"].size()));
        CHECK(matrix.accuracy() == near(one["accuracy"].get<double>()));
        CHECK(matrix.matthews() == near(one["mcc"].get<double>()));
        check_means(matrix.macro(), one["macro"]);
        check_means(matrix.weighted(), one["weighted"]);
        const auto accuracy = matrix.accuracy();
        check_means({accuracy, accuracy, accuracy}, one["micro"]);
        for (std::size_t i = 0; i < classes; ++i) {
            const auto& scores = matrix.of_class(i);
            check_means({scores.precision(), scores.recall(), scores.f1()}, one["each"][i]);
            CHECK(static_cast<double>(scores.right) == one["each"][i][3].get<double>());
            for (std::size_t k = 0; k < classes; ++k)
                CHECK(matrix.count(i, k) == one["counts"][i][k].get<std::int64_t>());
        }
    }
}

TEST_CASE("records of an evaluation have the means and each class that occurs") {
    ConfusionMatrix matrix({"a", "b", "nowhere"});
    CHECK(matrix.metrics().empty());
    matrix.add(0, 0, 3);
    matrix.add(1, 0);
    matrix.add(1, 1);
    const auto metrics = matrix.metrics();
    CHECK(metrics.size() == 4 + 2 * 3);
    CHECK(metric(metrics, "macro_precision") == near((0.75 + 1.0) / 2));
    CHECK(metric(metrics, "macro_recall") == near((1.0 + 0.5) / 2));
    CHECK(metric(metrics, "macro_f1") == near((6.0 / 7.0 + 2.0 / 3.0) / 2));
    CHECK(metric(metrics, "mcc") == near(matrix.matthews()));
    CHECK(metric(metrics, "precision/a") == 0.75);
    CHECK(metric(metrics, "recall/b") == 0.5);
    CHECK(metric(metrics, "f1/b") == near(2.0 / 3.0));
    CHECK_FALSE(test::found_metric(metrics, "f1/nowhere"));
}

TEST_CASE("of many classes the records have the means alone") {
    ConfusionMatrix many(names(ConfusionMatrix::listed_classes + 1)),
        few(names(ConfusionMatrix::listed_classes));
    many.add(3, 3), few.add(3, 3);
    CHECK(many.metrics().size() == 4);
    CHECK(few.metrics().size() == 7);
}

TEST_CASE("confusions come in the order of how often they are") {
    ConfusionMatrix matrix(names(3));
    matrix.add(0, 0, 9);
    matrix.add(2, 1, 2);
    matrix.add(0, 2, 5);
    matrix.add(1, 0, 2);
    const auto wrong = matrix.confusions();
    REQUIRE(wrong.size() == 3);
    CHECK((wrong[0].right == 0 && wrong[0].told == 2 && wrong[0].count == 5));
    CHECK((wrong[1].right == 1 && wrong[1].told == 0 && wrong[1].count == 2));
    CHECK((wrong[2].right == 2 && wrong[2].told == 1 && wrong[2].count == 2));
    CHECK_THROWS_AS(matrix.add(3, 0), std::out_of_range);
}

TEST_CASE("Matthews correlation keeps its digits for a million million samples") {
    ConfusionMatrix matrix(names(2));
    matrix.add(0, 0, 999'999'000'000);
    matrix.add(0, 1, 400'000);
    matrix.add(1, 0, 300'000);
    matrix.add(1, 1, 600'000);
    // (TP TN - FP FN) / sqrt((TP + FP) (TP + FN) (TN + FP) (TN + FN)), in integers of any length.
    CHECK(matrix.matthews() == test::Approx(0.63245518418290793).epsilon(1e-9));
}
