// The scale of a regression's labels, kept and refused.
#include "core/workbench/train/label_scale_file.h"

#include <fstream>

#include <switchyard_test.h>

using namespace switchyard;

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
