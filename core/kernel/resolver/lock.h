// The lock file: what a plan chose, so that a later run can insist on it.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/resolver/plan.h"

namespace switchyard::resolver {

// JSON text; of a plan that is ok.
std::string lock_text(const Plan& plan);

struct LockComparison {
    std::string error;  // the text is not a lock file: why; then nothing was compared
    std::vector<std::string>
        differences;  // "attention, encoder.0-5, train: locked torch/torch 1.0.0, now naive/naive 1.0.0"
};

// `text` is what a lock file holds.
LockComparison compare_with_lock(const Plan& plan, const std::string& text);

}  // namespace switchyard::resolver
