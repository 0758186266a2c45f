#include "core/workbench/cli/job/plan_ranks.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <switchyard/interfaces/request.h>
#include "core/kernel/base/printable.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/model/auto_precision.h"
#include "core/workbench/train/parameter_groups.h"

namespace switchyard::cli {
namespace {

// "12.5" or "12.5,20".
machine::Link read_network(const std::string& text) {
    machine::Link link;
    const auto comma = std::min(text.find(','), text.size());
    const auto read = [&](std::size_t begin, std::size_t end, double& value) {
        const auto [rest, error] = std::from_chars(text.data() + begin, text.data() + end, value);
        return error == std::errc{} && rest == text.data() + end && std::isfinite(value) && value >= 0.0;
    };
    const bool good = read(0, comma, link.gbytes_per_second) && link.gbytes_per_second > 0.0 &&
                      (comma == text.size() || read(comma + 1, text.size(), link.latency_us));
    if (!good)
        throw Failure(
            "--network: expected GB/s of one rank, and microseconds of a message after a comma, as in "
            "12.5,20; got '" +
            base::quoted(text) + "'");
    return link;
}

// What most of a step's products are of.
DType multiplied_in(const resolver::Plan& plan) {
    for (const auto& row : plan.rows) {
        if (row.use.kind == Kind::linear && row.use.phase == Phase::train) return row.use.request->dtype;
    }
    return DType::float32;
}

// What a description tells of its devices is not so of a job that has none of them.
machine::MachineRates rates_for(const RanksOptions& options, Device device, const HostInfo& host,
                                const machine::MachineRates& described) {
    if (!host.described || host.devices.empty() || host.first(device) != nullptr) return described;
    if (options.step_ms && !options.network.empty()) return {};
    const std::string theirs(name(host.devices.front().device));
    throw Failure("error: run.device: [speed] and [network] of " + host.name + " are of its " + theirs +
                  " devices, and the job runs on the " + std::string(name(device)) + "; expected " + theirs +
                  " (--set run.device=" + theirs + "), or what you measured (--step-ms with --network)");
}

}  // namespace

void add_ranks_options(CLI::App& command, RanksOptions& options) {
    add_number(command, "--ranks", options.ranks,
               "how it would train on so many ranks: memory of each, what travels, a simulated step", "N",
               whole_number(1, 1'000'000));
    command
        .add_option(
            "--step-ms", options.step_ms,
            "with --ranks: what a step of one rank by itself takes; default: worked out from the FLOPs")
        ->type_name("MS")
        ->check(number(1e-6, 1e9));
    add_number(command, "--utilization", options.utilization,
               "with --ranks: of the products that the machine makes at its best, what a step reaches; "
               "default: 0.4",
               "SHARE", number(1e-3, 1.0));
    command
        .add_option("--network", options.network,
                    "with --ranks: GB/s of one rank each way, and microseconds of a message; default: as the "
                    "host's description says")
        ->type_name("GB/S[,US]");
}

void check_ranks_options(const RanksOptions& options) {
    if (options.step_ms && options.utilization)
        throw Failure(
            "--utilization is for a step that is worked out, and --step-ms tells what it takes: leave one of "
            "them out");
    if (options.asked()) return;
    if (options.step_ms) throw Failure("--step-ms is for a plan of several ranks: add --ranks N");
    if (options.utilization) throw Failure("--utilization is for a plan of several ranks: add --ranks N");
    if (!options.network.empty()) throw Failure("--network is for a plan of several ranks: add --ranks N");
}

scale::ScalePlan plan_ranks(const RanksOptions& options, const config::Config& config,
                            const resolver::Plan& plan, const HostInfo& host,
                            const machine::MachineRates& described) {
    const auto rates = rates_for(options, config.run.device, host, described);
    scale::ScaleSettings settings;
    settings.ranks = options.ranks;
    settings.step_ms = options.step_ms;
    if (options.utilization) settings.utilization = *options.utilization;
    settings.rates = rates;
    settings.of_rates = host.name;
    if (!options.network.empty()) {
        settings.rates.network.within = settings.rates.network.between = read_network(options.network);
    }
    settings.trees = config.distributed.backend ? *config.distributed.backend == config::Collectives::nccl
                                                : config.run.device == Device::cuda;
    settings.multiplied_in = multiplied_in(plan);
    settings.trained = [&](const std::string& name) { return train::is_trained(config, name); };
    const auto* const device = host.first(config.run.device);
    const auto per_host = std::max<std::int64_t>(1, rates.network.ranks_per_host);
    settings.memory_bytes = device != nullptr ? device->memory_bytes : host.memory_bytes / per_host;
    auto scaled = scale::plan_scale(model::with_precision_of(config, plan), settings);
    scaled.settings.trained = nullptr;  // it is `config` that it looks at
    return scaled;
}

}  // namespace switchyard::cli
