// What the ranks of one training must have in common, each as it says of itself, and where one differs from
// the first.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/kernel/resolver/plan.h"
#include "core/workbench/train/run_facts.h"

namespace switchyard::train {

// What is empty is not known yet.
struct RankFacts {
    std::string program;  // its version
    RunFacts run;
    std::map<std::string, std::string> plugins;  // those of the plan: version and content, by name
    std::string plan;                            // its components, and the order of samples
};

// Before anything is read or planned: the configuration without [data], whose files count and not their
// names.
RankFacts facts_at_start(const config::Config& config);
std::map<std::string, std::string> plugins_of(const resolver::Plan& plan);

base::Json to_json(const RankFacts& facts);
RankFacts rank_facts_from(const base::Json& json);

// A line for each thing that rank `rank`, which says `other`, has otherwise than rank 0; empty: nothing. Of
// the configuration every key decides on the numbers or on when ranks wait for each other, but for a few that
// are a host's own affair.
std::string differences(const RankFacts& first, const RankFacts& other, std::int64_t rank);

}  // namespace switchyard::train
