// `switchyard compare --operation NAME`.
#pragma once

#include <cstdint>
#include <string>

#include "core/workbench/compare/arms/operation.h"

namespace switchyard::cli {

// What is wrong with the name of an operation; empty: it is one.
std::string operation_problem(const std::string& text);

// "forwards only, 64 samples a pass, "; where the job has data it may have fewer samples. Not of generation
// (generated_pass.h).
std::string passes_text(compare::Operation operation, std::int64_t samples, bool own_data);

}  // namespace switchyard::cli
