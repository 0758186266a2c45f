// The side of `switchyard plugins verify` that asks: a process for the cases of one component, and another
// one behind each case that ended or hung it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/workbench/cli/plugins/verify_case.h"
#include "core/workbench/compare/arms/arm_guard.h"

namespace switchyard::cli {

// After so many cases that ended the process or hung nothing new is learned: the others are not run.
inline constexpr std::size_t most_ends = 20;

struct Verified {
    conformance::Report report;
    std::vector<std::string> ran;  // the names of its cases; of drawn ones "drawn/7"
    // Cases behind the last one that were not run, at most, since too many before them ended the process.
    std::int64_t not_run = 0;
    std::string refused;  // why no case could be run
    bool stopped = false;
};

class VerifyClient {
public:
    // `stop`: looked at while a case runs. `timeout_ms`: of one case.
    VerifyClient(std::function<bool()> stop, double timeout_ms)
        : guard_(""), stop_(std::move(stop)), timeout_ms_(timeout_ms) {}

    Verified run(VerifyPart part);

private:
    // Cases of one process. False: it is to go on from `part.first`, with so many cases as `verified.not_run`
    // says.
    bool run_process(VerifyPart& part, Verified& verified);

    compare::ArmGuard guard_;
    std::function<bool()> stop_;
    double timeout_ms_;
};

}  // namespace switchyard::cli
