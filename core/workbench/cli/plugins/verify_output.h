// How `switchyard plugins verify` tells what it found: on a terminal, as JSON and as JUnit's XML.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/options.h>
#include "core/workbench/cli/plugins/verify_client.h"
#include "core/workbench/report/junit.h"

namespace switchyard::cli {

// What was found of one component, and what it ran with.
struct VerifiedComponent {
    Verified verified;
    Kind kind = Kind::attention;
    std::string id, plugin;  // the latter as the command names it
    Options options;
    std::string given;              // "chunk_size=64": of --option
    std::vector<std::string> uses;  // with --config: what each of the requests is for
};

// The command that runs the case of a fault again: a drawn one alone, a listed one with those whose names
// contain its own.
std::string repetition(const VerifyRequest& request, const VerifiedComponent& component,
                       const conformance::Fault& fault);

nlohmann::ordered_json to_json(const VerifyRequest& request, const VerifiedComponent& component);

// `shown`: the most faults.
void print(const VerifyRequest& request, const VerifiedComponent& component, std::int64_t shown);

// A case for each that ran; one that is skipped stands for all that the component does not serve.
void add_junit_cases(const VerifyRequest& request, const VerifiedComponent& component,
                     std::vector<report::JUnitCase>& cases);

}  // namespace switchyard::cli
