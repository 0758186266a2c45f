// "shadow" of summary.json: candidates that ran beside the components that trained.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/workbench/report/number_text.h"
#include "core/workbench/report/record_json.h"

namespace switchyard::report {

struct ShadowDrift {
    double median = 0.0, largest = 0.0;
    std::string where;  // "step 1, encoder.0.attention, out"
};

struct ShadowRow {
    std::string slot, layers, trusted, candidate;
    bool without_dropout = false;
    double calls = 0.0, steps = 0.0, faulty_calls = 0.0;
    std::string first_fault;  // with its place
    std::optional<ShadowDrift> outputs, gradients;
    std::optional<Interval> time_ratio;
};

std::vector<ShadowRow> read_shadow(const Json& json);

}  // namespace switchyard::report
