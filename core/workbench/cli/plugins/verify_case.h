// What `switchyard plugins verify` runs, and how the process that runs it and the one that asks for it talk.
//
// Components run in a process of their own, one after the other: one that crashes, hangs, ends the process or
// breaks what others share in it is a fault of the case that it ran, and the next case begins in a new
// process. Line by line, as JSON: the asker sends {"type": "verify", ...}, the answer to it and to each
// {"type": "go"} is {"type": "case", "number", "name", "behind", "report"} before each case and
// {"type": "done", "report"} at the end. Reports hold what was found since the one before.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <switchyard/conformance/report.h>
#include <switchyard/interfaces/types.h>
#include "core/kernel/trust/conformance_record.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/job/job.h"

namespace switchyard::cli {

// The exit code of a process that has run all its cases and was told to end: a plugin that ends it in a way
// of its own has another one.
inline constexpr int all_cases_ran = 73;

// That are drawn of each request of a configuration, unless --drawn says otherwise.
inline constexpr std::int64_t cases_of_a_request = 12;

// --mode: what is looked for (conformance/checks.h), or how fast components are, or what they serve.
enum class VerifyMode : std::uint8_t { correctness, gradients, robustness, speed, support };

struct VerifyRequest {
    std::string plugin;     // a name or a path; empty: all plugins
    std::string component;  // of --component
    std::string filter;
    std::vector<std::string> dtypes;
    std::vector<std::string> given;  // --option
    std::vector<std::string> modes;  // --mode; none: correctness, gradients and robustness
    std::string device = "cpu";
    std::uint64_t seed = 1;  // of the drawn cases
    std::int64_t drawn = trust::drawn_by_default;
    // --config, --set and --trust: what the plan of this configuration runs, and `drawn` cases of each of its
    // requests (verify_job.h); without: all that components claim.
    JobOptions job;
};

// One component of these, from that case on.
struct VerifyPart {
    VerifyRequest request;
    std::string component;  // "flash/flash"
    std::string kind;
    std::int64_t first = 0;
    std::size_t planned = 0;  // with --config: which of its parts
};

nlohmann::ordered_json to_json(const VerifyPart& part);
VerifyPart read_verify_part(const nlohmann::ordered_json& message);

// What a report had when it was last told.
struct Told {
    std::size_t faults = 0, support = 0;
};
// What came since, of lists, and counts whole.
nlohmann::ordered_json report_message(const conformance::Report& report, Told after);
// Adds what a message says; `counted`: of this process so far, which the message's counts replace.
void take_report(const nlohmann::ordered_json& message, conformance::Report& counted);

// The sum of two runs of a component, over other cases each.
void add_report(conformance::Report& to, const conformance::Report& more);

// switchyard-run verify: runs the cases of one component. Not for people.
Command verify_process_command();

}  // namespace switchyard::cli

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 5> names<cli::VerifyMode>{"correctness", "gradients",
                                                                        "robustness", "speed", "support"};
}  // namespace switchyard
