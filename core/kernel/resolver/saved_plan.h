// A saved plan: what was chosen, in a file, so that a later run can insist on it.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/resolver/plan.h"

namespace switchyard::resolver {

// JSON text; of a plan that is ok.
std::string saved_plan_text(const Plan& plan);

struct SavedComparison {
    std::string error;  // the text is not a saved plan: why; then nothing was compared
    std::vector<std::string>
        differences;  // "attention, encoder.0-5, train: saved torch/torch 1.0.0, now naive/naive 1.0.0"
};

// `text` is what such a file holds.
SavedComparison compare_with_saved(const Plan& plan, const std::string& text);

}  // namespace switchyard::resolver
