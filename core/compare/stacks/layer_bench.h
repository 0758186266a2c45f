// Stacks of backends against each other on one whole transformer layer, forward and backward: what swapping
// attention, norm and activation together brings where projections stay the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <switchyard/compare/measure/peaks.h>
#include <switchyard/compare/measure/timing.h>
#include <switchyard/compare/stacks/backend_stack.h>
#include <switchyard/config/config.h>
#include <switchyard/host/calling/plugin_library.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/resolver/resolver.h>

namespace switchyard::compare {

// What a stack may name here.
inline constexpr Kind layer_kinds[] = {Kind::attention, Kind::normalization, Kind::activation};

struct LayerRow {
    std::string stack;
    std::string message;                     // why it was not timed; empty if it was
    std::map<std::string, std::string> ran;  // by slot: "torch@flash"
    Interval ms;
    std::optional<Interval> speedup;
    std::int64_t extra_memory_bytes = -1;
    double gflops = 0.0;
    // Largest root mean square, relative, of the difference to the base's output and input gradient, with
    // dropout off.
    double drift = 0.0;
    int blocks = 0;
    int spoilt = 0;
};

struct LayerReport {
    std::vector<LayerRow> rows;    // the first is the base
    std::string layer;             // "encoder.0"
    std::string shape;             // "32,128,384": batch, length, hidden_size
    DType dtype = DType::float32;  // of attention and projections
    Peaks peaks;
    double dropout = 0.0;

    int exit_code() const;  // 2 if no stack could be timed, 1 if some could not
};

// The layer of the configuration's first stack, batches of batch.size full rows of batch.max_length. `choice`: how slots that a stack leaves at
// `auto` are chosen.
LayerReport run_layer_bench(const config::Config& config, const std::vector<BackendStack>& stacks,
                            const TimingOptions& timing, host::Registry& registry, const HostInfo& host,
                            Stopwatch& stopwatch, const resolver::ResolveOptions& choice = {});

std::string to_text(const LayerReport& report);
nlohmann::json to_json(const LayerReport& report);

}  // namespace switchyard::compare
