// What scikit-learn, SciPy, seqeval and sacreBLEU say, from tests/fixtures/scores.json. To add a case:
// tests/fixtures/make_scores.py.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/workbench/score/metrics.h"

#include <switchyard_test.h>

namespace switchyard::test {

inline nlohmann::json score_cases(const std::string& kind) {
    std::ifstream file(source_dir() / "tests/fixtures/scores.json");
    return nlohmann::json::parse(file).at(kind);
}

inline Approx near(double value) { return Approx(value).epsilon(1e-10).margin(1e-12); }

inline std::optional<double> found_metric(const score::Metrics& metrics, const std::string& name) {
    for (const auto& [key, value] : metrics)
        if (key == name) return value;
    return std::nullopt;
}

inline double metric(const score::Metrics& metrics, const std::string& name) {
    const auto found = found_metric(metrics, name);
    INFO("there is no " << name);
    REQUIRE(found);
    return *found;
}

}  // namespace switchyard::test
