// What `switchyard plugins verify --mode support` found: which listed cases a component serves. None ran.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

#include <switchyard/conformance/report.h>

namespace switchyard::cli {

// Every listed case, with the reasons where it is refused.
nlohmann::ordered_json support_json(const conformance::Report& report);

// How many cases are served, of each dtype too, and the reasons that are given most often: `shown` of them.
void print_support(const conformance::Report& report, std::int64_t shown);

}  // namespace switchyard::cli
