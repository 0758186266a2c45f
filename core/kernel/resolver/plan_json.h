// A plan as JSON (docs/schema/plan.json).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/kernel/resolver/plan.h"

namespace switchyard::resolver {

nlohmann::ordered_json to_json(const Plan& plan);

// What a component was given, as JSON: also in saved plans.
nlohmann::ordered_json to_json(const Options& options);

}  // namespace switchyard::resolver
