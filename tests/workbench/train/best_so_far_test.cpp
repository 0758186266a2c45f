// Which evaluation is the best, and when patience is at its end. To add a case: values in the order of their
// evaluations, and the step that must be the best.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "core/kernel/base/limits.h"
#include "core/kernel/config/metric_names.h"
#include "core/workbench/score/confusion_matrix.h"
#include "core/workbench/score/entity_metrics.h"
#include "core/workbench/score/multi_label_metrics.h"
#include "core/workbench/score/regression_metrics.h"
#include "core/workbench/train/best_so_far.h"
#include "core/workbench/train/run_directory.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

train::BestSoFar best_by(const std::string& metric, std::int64_t patience = 0, double min_delta = 0.0) {
    config::TrainConfig train;
    train.keep_best = "eval." + metric;
    train.patience = patience;
    train.min_delta = min_delta;
    return train::BestSoFar(train);
}

// Adds evaluations of the steps 1, 2, ...; says after which training ends, 0: after none.
std::int64_t end_of(train::BestSoFar& best, const std::vector<std::optional<double>>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        best.add({static_cast<std::int64_t>(i) + 1, values[i]});
        if (best.out_of_patience()) return static_cast<std::int64_t>(i) + 1;
    }
    return 0;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

TEST_CASE("the best evaluation is the lowest or the highest, the earlier of two equal ones") {
    for (const char* const metric : {"loss", "perplexity", "mse", "rmse", "mae", "mae/height"}) {
        auto best = best_by(metric);
        CHECK(end_of(best, {3.0, 1.0, 2.0, 1.0, std::nullopt}) == 0);
        CHECK(best.best() == train::BestSoFar::Best{2, 1.0});
    }
    for (const char* const metric :
         {"accuracy", "r2", "pearson", "macro_f1", "f1/good", "entity_f1", "mcc"}) {
        auto best = best_by(metric);
        CHECK(end_of(best, {1.0, 3.0, 2.0, 3.0, std::nullopt}) == 0);
        CHECK(best.best() == train::BestSoFar::Best{2, 3.0});
    }
}

TEST_CASE("what is not a finite number is never the best") {
    train::EvalResult result;
    result.loss = undefined;
    result.metrics = {{"mae", infinite}, {"mae/height", 2.0}};
    CHECK_FALSE(train::metric_of(result, "loss"));
    CHECK_FALSE(train::metric_of(result, "accuracy"));
    CHECK_FALSE(train::metric_of(result, "mae"));
    CHECK(train::metric_of(result, "mae/height") == 2.0);
    auto best = best_by("loss");
    CHECK_FALSE(best.add({1, std::nullopt}));
    CHECK_FALSE(best.best());
    CHECK(best.add({2, 5.0}));
}

TEST_CASE("patience ends after so many evaluations that are not better") {
    auto two = best_by("loss", 2);
    CHECK(end_of(two, {3.0, 4.0, 2.0, 2.0, 2.5, 1.0}) == 5);
    CHECK(two.best() == train::BestSoFar::Best{3, 2.0});
    auto none = best_by("accuracy", 1);
    CHECK(end_of(none, {std::nullopt}) == 1);
    // Better by little is the best, but uses up patience.
    auto little = best_by("loss", 2, 0.5);
    CHECK(end_of(little, {3.0, 2.0, 1.75, 1.5, 1.0}) == 4);
    CHECK(little.best() == train::BestSoFar::Best{4, 1.5});
}

TEST_CASE("evaluations that are made again change nothing") {
    const std::vector<double> values{4.0, 3.0, 3.5, 2.0, 2.5, 2.25, 2.75};
    for (std::int64_t again = 1; again <= 7; ++again) {
        auto once = best_by("loss", 3), twice = best_by("loss", 3);
        for (std::int64_t step = 1; step <= 7; ++step) {
            once.add({step, values[static_cast<std::size_t>(step - 1)]});
            twice.add({step, values[static_cast<std::size_t>(step - 1)]});
        }
        twice.forget_from(again);
        CHECK_FALSE(twice.out_of_patience());
        for (std::int64_t step = again; step <= 7; ++step)
            twice.add({step, values[static_cast<std::size_t>(step - 1)]});
        CHECK(once.best() == twice.best());
        CHECK(once.out_of_patience());
        CHECK(twice.out_of_patience());
    }
}

TEST_CASE("evaluations are read from metrics.jsonl up to a step") {
    const auto path = (test::temporary_dir("metrics") / "metrics.jsonl").string();
    std::ofstream(path) << "{\"step\":1,\"loss\":9.0}\n"
                           "{\"step\":2,\"eval_loss\":1.5,\"eval_mae/a b\":0.25}\n"
                           "{\"step\":4,\"eval_loss\":null}\n"
                           "{\"step\":6,\"eval_loss\":0.5}\n{\"step\":8,\"eval_lo";
    using List = std::vector<train::Evaluation>;
    const bool losses =
        train::evaluations_until(path, 6, "loss") == List{{2, 1.5}, {4, std::nullopt}, {6, 0.5}};
    CHECK(losses);
    const bool errors = train::evaluations_until(path, 5, "mae/a b") == List{{2, 0.25}, {4, std::nullopt}};
    CHECK(errors);
    CHECK(train::evaluations_until(path + ".none", 5, "loss").empty());
}

TEST_CASE("lines of a metrics.jsonl that is larger than any file that is read as a whole are kept") {
    const auto path = (test::temporary_dir("metrics") / "metrics.jsonl").string();
    const std::string first = "{\"step\":1,\"eval_loss\":2.5}\n", last = "{\"step\":2,\"eval_loss\":1.5}\n";
    {
        std::ofstream file(path, std::ios::binary);
        file << first;
        // Holes with line ends between, of which the disk holds nothing.
        for (std::size_t at = base::limits::line_bytes; at <= base::limits::file_bytes;
             at += base::limits::line_bytes) {
            file.seekp(static_cast<std::streamoff>(at));
            file << '\n';
        }
        file << last << "{\"step\":3,\"eval_loss\":0.5}\n";
    }
    REQUIRE(std::filesystem::file_size(path) > base::limits::file_bytes);
    (void)train::open_metrics(path, 2, false);
    std::ifstream kept(path, std::ios::binary);
    CHECK(std::string(std::istreambuf_iterator<char>(kept), {}) == first + last);
}

TEST_CASE("what evaluations tell has the names that train.keep_best may have") {
    config::Config config;
    const auto check = [&](const score::Metrics& metrics) {
        REQUIRE_FALSE(metrics.empty());
        const auto names = config::metric_names(config);
        for (const auto& [name, value] : metrics) {
            INFO(name);
            CHECK(has(names, name));
        }
    };
    config.task.labels = {"height", "width"};
    config.task.kind = config::TaskKind::regression;
    score::RegressionColumn column;
    for (const double value : {1.0, 2.0, 4.0}) column.add(value, value + 1.0);
    check(score::regression_metrics({column, column}, config.task.labels));
    config.task.kind = config::TaskKind::multi_label;
    score::MultiLabelCounts counts(2);
    counts.add(std::vector<double>{1.0, -1.0}, std::vector<double>{1.0, 0.0});
    check(counts.metrics(config.task.labels));
    config.task.kind = config::TaskKind::token_classification;
    CHECK_FALSE(has(config::metric_names(config), "entity_f1"));
    config.task.labels = {"O", "B-X", "I-X"};
    score::EntityCounts entities;
    entities.add({"B-X", "O"}, {"B-X", "I-X"});
    check(entities.metrics());
    for (const auto kind : {config::TaskKind::classification, config::TaskKind::next_sentence,
                            config::TaskKind::token_classification}) {
        config.task = {};
        config.task.kind = kind;
        config.task.labels = {"a", "b"};
        score::ConfusionMatrix confusion(config::label_names(config));
        for (const std::size_t label : {0, 1, 1}) confusion.add(label, 1);
        check(confusion.metrics());
    }
}
