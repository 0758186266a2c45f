// switchyard plan --ranks: how the job would run on more ranks than there are.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "core/kernel/config/config.h"
#include "core/kernel/machine/host_info.h"
#include "core/kernel/resolver/plan.h"
#include "core/workbench/scale/scale_plan.h"

namespace switchyard::cli {

struct RanksOptions {
    std::int64_t ranks = 0;  // 0: nothing is asked
    std::optional<double> step_ms;
    std::optional<double> utilization;
    std::string network;  // "12.5,20"

    bool asked() const { return ranks > 0; }
};

void add_ranks_options(CLI::App& command, RanksOptions& options);

// Throws Failure where options belong to --ranks and that is missing, or a rate is not known.
void check_ranks_options(const RanksOptions& options);
scale::ScalePlan plan_ranks(const RanksOptions& options, const config::Config& config,
                            const resolver::Plan& plan, const HostInfo& host,
                            const machine::MachineRates& described);

}  // namespace switchyard::cli
