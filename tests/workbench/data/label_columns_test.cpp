// What the cells of a row say of its labels. To add a case: a line in a table below.
#include "core/workbench/data/label_columns.h"
#include "core/workbench/data/label_scale.h"

#include <cmath>
#include <limits>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

using Texts = std::vector<std::string>;

config::Config task(config::TaskKind kind, Texts labels = {}, const std::string& separator = "") {
    config::Config config;
    config.task.kind = kind;
    config.task.labels = std::move(labels);
    config.data.label_column = "y";
    config.data.label_separator = separator;
    return config;
}

std::string fault(const config::Config& config, const Texts& texts) {
    return data::labels_of(config, texts).fault;
}

std::vector<double> values(const config::Config& config, const Texts& texts) {
    const auto labels = data::labels_of(config, texts);
    INFO(labels.fault);
    CHECK(labels.fault.empty());
    return labels.values;
}

const config::Config number = task(config::TaskKind::regression);
const config::Config numbers = task(config::TaskKind::regression, {"height", "weight"});
const config::Config flags = task(config::TaskKind::multi_label, {"red", "green", "blue"});
const config::Config listed = task(config::TaskKind::multi_label, {"red", "green", "blue"}, "|");

}  // namespace

TEST_CASE("the columns of labels follow from the task") {
    CHECK(data::label_columns(number) == Texts{"y"});
    CHECK(data::label_names(number) == Texts{"y"});
    CHECK(data::label_columns(numbers) == Texts{"height", "weight"});
    CHECK(data::label_columns(flags) == Texts{"red", "green", "blue"});
    CHECK(data::label_columns(listed) == Texts{"y"});
    CHECK(data::label_columns(task(config::TaskKind::classification, {"a", "b"})) == Texts{"y"});
    CHECK(data::label_columns(task(config::TaskKind::masked_lm)).empty());
    CHECK(data::label_names(task(config::TaskKind::next_sentence)) == Texts{"follows", "does not follow"});
    CHECK(number.task.classes(100) == 1);
    CHECK(numbers.task.classes(100) == 2);
    CHECK(listed.task.classes(100) == 3);
}

TEST_CASE("numbers are read as they are written") {
    CHECK(values(number, {"1.5"}) == std::vector{1.5});
    CHECK(values(number, {" -2e3 "}) == std::vector{-2000.0});
    CHECK(values(number, {"+7"}) == std::vector{7.0});
    CHECK(values(number, {"0"}) == std::vector{0.0});
    CHECK(values(numbers, {"1.75", "70"}) == std::vector{1.75, 70.0});
}

TEST_CASE("what is no number of a label is said with its column") {
    const std::pair<const char*, const char*> wrong[] = {
        {"tall", "column 'y': 'tall' is no number"},
        {"", "column 'y': '' is no number"},
        {"1.5 m", "column 'y': '1.5 m' is no number"},
        {"1,5", "column 'y': '1,5' is no number"},
        {"--1", "column 'y': '--1' is no number"},
        {"+-1", "column 'y': '+-1' is no number"},
        {"+", "column 'y': '+' is no number"},
        {"0x10", "column 'y': '0x10' is no number"},
        {"nan", "column 'y': 'nan' is not finite; expected a number"},
        {"-inf", "column 'y': '-inf' is not finite; expected a number"},
        {"1e999", "column 'y': '1e999' is beyond what a number can be"},
        {"1e39", "column 'y': '1e39' is beyond what a float32 can be"},
    };
    for (const auto& [text, expected] : wrong) CHECK(fault(number, {text}) == expected);
    CHECK(fault(numbers, {"1", "x"}) == "column 'weight': 'x' is no number");
}

TEST_CASE("an empty cell among several says nothing of its label, and a row needs one label") {
    const auto some = values(numbers, {"", "70"});
    CHECK(std::isnan(some[0]));
    CHECK(some[1] == 70.0);
    CHECK(std::isnan(values(flags, {"1", " ", "0"})[1]));
    CHECK(fault(numbers, {"", " "}) == "no label: the columns 'height', 'weight' are all empty");
}

TEST_CASE("labels that do not exclude each other are columns of 0 and 1") {
    CHECK(values(flags, {"0", "1", "1"}) == std::vector{0.0, 1.0, 1.0});
    CHECK(values(flags, {"true", "false", "0"}) == std::vector{1.0, 0.0, 0.0});
    CHECK(fault(flags, {"0", "2", "1"}) == "column 'green': '2' is no label of multi_label; expected 0 or 1");
    CHECK(data::labels_of(flags, Texts{"0", "2", "1"}).rule == config::BadRow::error);
}

TEST_CASE("or names in one column, in any order, also none") {
    CHECK(values(listed, {"blue|red"}) == std::vector{1.0, 0.0, 1.0});
    CHECK(values(listed, {" green "}) == std::vector{0.0, 1.0, 0.0});
    CHECK(values(listed, {""}) == std::vector{0.0, 0.0, 0.0});
    CHECK(values(listed, {"red| red |"}) == std::vector{1.0, 0.0, 0.0});
    CHECK(fault(listed, {"red|pink"}) == "label 'pink' is none of 'red', 'green', 'blue' (task.labels)");
}

TEST_CASE("a class may be named by its number, unless the names of classes are numbers") {
    const auto number_of = [](const Texts& labels, const std::string& text) {
        return data::labels_of(task(config::TaskKind::classification, labels), Texts{text}).number;
    };
    CHECK(number_of({"bad", "good"}, "good") == 1);
    CHECK(number_of({"bad", "good"}, "1") == 1);
    CHECK(number_of({"1 star", "2 stars"}, "0") == 0);
    CHECK(number_of({"1", "2", "3"}, "1") == 0);
    CHECK(number_of({"1", "2", "3"}, "3") == 2);
    CHECK(number_of({"-1", "1"}, "-1") == 0);
    const auto stray = [](const Texts& labels, const std::string& text) {
        return fault(task(config::TaskKind::classification, labels), {text});
    };
    CHECK(stray({"1", "2", "3"}, "0") == "label '0' is none of '1', '2', '3' (task.labels)");
    CHECK(stray({"-1", "+1"}, "0") == "label '0' is none of '-1', '+1' (task.labels)");
    CHECK(stray({"other", "7"}, "0") == "label '0' is none of 'other', '7' (task.labels)");
    CHECK(stray({"bad", "good"}, "2") == "label '2' is none of 'bad', 'good' (task.labels)");
    const auto several = task(config::TaskKind::multi_label, {"1", "2"}, "|");
    CHECK(values(several, {"2|1"}) == std::vector{1.0, 1.0});
    CHECK(fault(several, {"2|0"}) == "label '0' is none of '1', '2' (task.labels)");
}

TEST_CASE("numbers are scaled by the mean and deviation of each column") {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const auto scale = data::scale_of({1.0, 5.0, none, 5.0, 3.0, 5.0}, 2);
    CHECK(scale.mean == std::vector{2.0, 5.0});
    CHECK(scale.deviation == std::vector{1.0, 1.0});  // the second does not vary
    CHECK(scale.learnt(0, 3.0) == 1.0);
    CHECK(scale.value(0, -2.0) == 0.0);
    CHECK(data::LabelScale{}.learnt(0, 3.0) == 3.0);
    // Variances of numbers around a billion, for which float64's sums of squares have no digits left.
    CHECK(data::scale_of({1e9 + 1.0, 1e9 + 3.0}, 1).deviation[0] == test::Approx(1.0));
}
