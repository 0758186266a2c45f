// Stacks of backends against each other on whole training steps: forward, backward, clipping and the optimizer's step, as the
// trainer does them, each stack with a model of its own that began with the same values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <switchyard/compare/bench/bench_settings.h>
#include <switchyard/compare/measure/timing.h>
#include <switchyard/compare/stacks/backend_stack.h>
#include <switchyard/config/config.h>
#include <switchyard/host/calling/plugin_library.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/resolver/resolver.h>

namespace switchyard::compare {

// What a stack may name here.
inline constexpr Kind step_kinds[] = {Kind::attention, Kind::normalization, Kind::activation,
                                      Kind::loss,      Kind::optimizer,     Kind::precision};

struct StepBenchOptions {
    std::vector<BackendStack> stacks;  // the first is the base, unless there is a plain arm
    bool plain = false;  // a first arm of plain LibTorch calls, in each stack's dtype: see plain_bert.h
    std::optional<LengthRange> lengths;
    TimingOptions timing;
};

struct StepRow {
    std::string stack;
    std::vector<std::string> overrides;  // that make a configuration this stack
    std::string message;                 // why it was not timed; empty if it was
    std::map<std::string, std::string> ran;
    std::string dtype;  // of the linear layers
    Interval ms;
    std::optional<Interval> speedup;  // over the first row
    double samples_per_second = 0.0;
    double tokens_per_second = 0.0;
    std::int64_t extra_memory_bytes = -1;  // of a step, beyond parameters and optimizer state
    double loss = 0.0;                     // of the first batch, with dropout off, before any step
    double drift = 0.0;  // of that batch's gradients from the first row's: root of squares, relative
    int blocks = 0;
    int spoilt = 0;
};

struct StepReport {
    std::vector<StepRow> rows;
    std::string model;  // "bert, 6 layers, hidden 384; 32 samples of up to 128 tokens"
    double limit = 0.03;
    bool plain = false;

    // Of a report with a plain arm: whether this one costs more than `limit` over it for sure.
    bool over(const StepRow& row) const;
    // The quickest of those that were timed and whose loss is finite; nullptr if none. Never the plain arm.
    const StepRow* fastest() const;
    // 2: none could be timed; 1: some could not; 3: one is over the limit.
    int exit_code() const;
};

// `choice`: how slots that a stack leaves at `auto` are chosen.
StepReport run_step_bench(const config::Config& config, const StepBenchOptions& options,
                          host::Registry& registry, const HostInfo& host, Stopwatch& stopwatch,
                          const resolver::ResolveOptions& choice = {});

std::string to_text(const StepReport& report);
nlohmann::json to_json(const StepReport& report);

}  // namespace switchyard::compare
