#include "core/workbench/cli/train/profile_facts.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <set>
#include <utility>

#include <switchyard/interfaces/torch_types.h>
#include "core/kernel/machine/cpu_allocator.h"
#include "core/workbench/bench/measure/memory.h"
#include "core/workbench/bench/measure/peak_meter.h"
#include "core/workbench/cli/job/matmul_peak.h"
#include "core/workbench/model/planning.h"

namespace switchyard::cli {
namespace {

constexpr double worth_timing = 0.05;  // of a step

// Slots whose components are timed against each other.
std::array<config::SlotConfig*, 6> timed_slots(config::Config& config) {
    return {&config.attention, &config.normalization, &config.activation,
            &config.linear,    &config.loss,          &config.optimizer};
}

double share_of(const profile::Profile& profile, const std::string& use) {
    const auto found = std::ranges::find(profile.uses, use, &profile::Line::name);
    return found == profile.uses.end() ? 0.0 : found->ms / profile.step_ms;
}

const resolver::PlanRow* row_of(const resolver::Plan& plan, const resolver::SlotUse& use) {
    for (const auto& row : plan.rows) {
        if (row.chosen && row.use.slot == use.slot && row.use.layers == use.layers &&
            row.use.phase == use.phase)
            return &row;
    }
    return nullptr;
}

// Of the requests that `config` makes; what is chosen is what the job's own plan has.
std::vector<profile::TimedUse> timed_uses(const PlannedJob& planned, config::Config config,
                                          const profile::Profile& profile) {
    for (auto* slot : timed_slots(config)) slot->backend = {"auto"};
    auto open = open_choices(config, *planned.registry, planned.host);
    std::set<std::string> seen;
    std::erase_if(open, [&](const OpenChoice& choice) {
        return choice.use.phase != Phase::train || share_of(profile, choice.use.slot) < worth_timing ||
               row_of(planned.plan, choice.use) == nullptr || !seen.insert(choice.use.slot).second;
    });
    Measurements measurements(config, planned.host);
    (void)measurements.measure(open, *planned.registry, config.runtime.keep_times);
    if (measurements.disturbed() > 0)
        std::cerr << "note: " << disturbed_text(measurements) << ": what is advised by it may be off\n";
    std::vector<profile::TimedUse> timed;
    for (const auto& choice : open) {
        const auto* const measured = measurements.find(choice);
        if (measured == nullptr) continue;
        const auto& chosen = *row_of(planned.plan, choice.use)->chosen;
        profile::TimedUse use{std::string(name(choice.use.kind)),
                              choice.use.slot,
                              chosen.plugin + "/" + chosen.component,
                              {},
                              ""};
        for (const auto& candidate : measured->candidates) {
            if (candidate.timed())
                use.components.push_back({candidate.name, candidate.ms, candidate.low, candidate.high});
        }
        timed.push_back(std::move(use));
    }
    return timed;
}

bool would_be_planned(const PlannedJob& planned, const config::Config& config) {
    resolver::ResolveOptions options;
    options.explain = false;
    return model::make_plan(config, *planned.registry, planned.host, options).ok();
}

bool multiplies_in_float32(const resolver::Plan& plan) {
    return std::ranges::all_of(plan.rows, [](const resolver::PlanRow& row) {
        return row.use.kind != Kind::linear || row.use.request->dtype == DType::float32;
    });
}

void add_narrow(const PlannedJob& planned, const profile::Profile& profile, profile::JobFacts& facts) {
    if (!multiplies_in_float32(planned.plan)) return;
    auto config = planned.config;
    config.precision.backend = {"amp/bf16"};
    if (!would_be_planned(planned, config)) return;
    facts.narrow_precision = "precision.backend = \"amp/bf16\"";
    facts.narrow = timed_uses(planned, config, profile);
    for (auto& use : facts.narrow) use.with = facts.narrow_precision;
}

std::string packed_layout(const PlannedJob& planned) {
    auto config = planned.config;
    if (config.batch.planned_layout() == Layout::packed) return "";
    config.batch.layout = Layout::packed;
    return would_be_planned(planned, config) ? "batch.layout = \"packed\"" : "";
}

// Only where the loader that is planned makes its batches when they are asked for.
std::string workers(const PlannedJob& planned) {
    for (const auto& row : planned.plan.rows) {
        if (row.use.kind == Kind::data_loader && row.chosen && row.chosen->plugin == "batching") return "";
    }
    auto config = planned.config;
    const bool packed = config.batch.planned_layout() == Layout::packed;
    config.data_loader.backend = {packed ? "batching/packed" : "batching/padded"};
    return would_be_planned(planned, config)
               ? "data_loader.backend = \"" + config.data_loader.backend.front() + "\""
               : "";
}

}  // namespace

void sample_roofs(const PlannedJob& planned, profile::Roofs& roofs) {
    std::set<DType> named;
    for (const auto& row : planned.plan.rows) {
        if (row.use.kind == Kind::linear) named.insert(row.use.request->dtype);
    }
    sample_roofs(planned.config, planned.host, named, roofs);
}

void sample_roofs(const config::Config& config, const HostInfo& host, const std::set<DType>& named,
                  profile::Roofs& roofs) {
    const c10::Device device(to_device_type(config.run.device));
    bench::HostStopwatch stopwatch([device] { bench::synchronize(device); });
    std::set<DType> dtypes{DType::float32, DType::bfloat16};
    for (const auto dtype : {DType::float64, DType::float16}) {
        if (named.contains(dtype)) dtypes.insert(dtype);
    }
    const auto folder = measurement_cache(config, host).folder();
    {
        bench::PeakMeter meter({dtypes.begin(), dtypes.end()}, device, host, stopwatch);
        meter.sample();
        const auto& peaks = meter.peaks();
        for (const auto& [dtype, gflops] : peaks.matmul_gflops) {
            train::MatmulPeak peak{1e9 * gflops, std::string(name(dtype)), peaks.matmul_of.at(dtype)};
            if (device.is_cpu()) peak = highest_matmul_peak(peak, folder);
            if (peak.flops_per_second <= roofs.products[dtype]) continue;
            roofs.products[dtype] = peak.flops_per_second;
            roofs.products_of[dtype] = peak.of;
        }
        const auto highest = [&](const char* what, double known, double now) {
            const double rate = std::max(known, 1e9 * now);
            return device.is_cpu() ? highest_rate({rate, what, ""}, folder).per_second : rate;
        };
        roofs.read = highest("memory-read", roofs.read, peaks.read_gbytes_per_second);
        roofs.copy = highest("memory-copy", roofs.copy, peaks.copy_gbytes_per_second);
    }
    machine::trim_cpu_cache();
    machine::reset_cpu_peak();
}

profile::JobFacts job_facts(const PlannedJob& planned, const profile::Profile& profile) {
    const auto& config = planned.config;
    profile::JobFacts facts;
    facts.timed = timed_uses(planned, config, profile);
    add_narrow(planned, profile, facts);
    facts.packed_layout = packed_layout(planned);
    facts.workers = workers(planned);
    if (config.train.recompute != config::Recompute::none)
        facts.recompute = std::string(name(config.train.recompute));
    if (config.batch.tokens == 0) facts.batch_size = config.batch.size;  // else tokens may be what limits it
    return facts;
}

}  // namespace switchyard::cli
