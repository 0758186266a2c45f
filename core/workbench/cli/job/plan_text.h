// A plan for people.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/kernel/base/terminal.h"
#include "core/kernel/resolver/plan.h"

namespace switchyard::cli {

// "h100 (described): Intel ..., 52 cores, LibTorch 2.11.0, NVIDIA H100"
std::string host_line(const HostInfo& host);

// Each slot with what was chosen and how, what the core composes around it, and why nothing else. Phases that
// differ in nothing share a row.
enum class PlanDetail : std::uint8_t {
    brief,    // not why nothing else
    reasons,  // all of that
    all,      // also requests, options, libraries
};
base::Text plan_text(const resolver::Plan& plan, PlanDetail detail);

// What could not be served, for stderr, with the place in the configuration; empty if the plan is ok.
std::string plan_problems(const resolver::Plan& plan);

// Which chosen components no run of conformance has passed for, in one line; empty: there is none.
std::string unverified_text(const resolver::Plan& plan);

// What is likely not what is wanted, a line each, for stderr; what is in `told` is left out, and the rest
// is added to it.
std::string plan_warnings(const resolver::Plan& plan, std::set<std::string>& told);

}  // namespace switchyard::cli
