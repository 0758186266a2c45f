// The search for the largest batch as text, with a bar for samples a second, and as JSON
// (docs/schema/fit.json).
//
// No LibTorch here.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/workbench/compare/fit/fit.h"

namespace switchyard::compare {

std::string fit_text(const FitResult& result, std::int64_t memory_bytes);
nlohmann::ordered_json fit_json(const FitResult& result, std::int64_t memory_bytes);

}  // namespace switchyard::compare
