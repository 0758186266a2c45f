// What a component says it has run, held against what it declares and what was asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <switchyard/conformance/binding.h>
#include <switchyard/conformance/report.h>

namespace switchyard::conformance {

// `not_counted` where nothing is in `executed`, or not as much as `times` (0: any number); `wrong_variant`
// where something is that was not declared, or is not `asked` (empty: any).
std::optional<Fault> wrong_execution(const std::vector<std::string>& executed, const std::string& asked,
                                     const Facts& facts, int times = 0);

}  // namespace switchyard::conformance
