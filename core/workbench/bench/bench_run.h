// Runs a bench: every backend on every shape, dtype and pass, timed against each other, weighed, and checked
// against the float64 oracle.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/kernel/config/slot_config.h"
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/bench/bench_report.h"
#include "core/workbench/bench/bench_settings.h"
#include "core/workbench/bench/bench_sweep.h"
#include "core/workbench/bench/measure/timing.h"

namespace switchyard::bench {

struct BenchRequest {
    BenchSettings settings;
    std::vector<BenchShape> shapes;
    std::vector<DType> dtypes;
    std::vector<Pass> passes;
    std::vector<std::string> backends;  // "[plugin/]component[@variant]"
    std::string base;                   // one of them, or empty: no ratios
    config::SlotConfig slot;            // options of components, allow_reduced
    TimingOptions timing;               // its time budget is that of the whole run
    // Each backend whose component declares this option is run once for each value; the others as they are.
    std::optional<Sweep> sweep;
    std::int64_t memory_budget_bytes = 0;
};

// Where the backends come from. All of it must outlive the run.
struct BenchWorld {
    const std::vector<resolver::Candidate>& candidates;
    runtime::Registry& registry;
    const HostInfo& host;
    Stopwatch& stopwatch;
    std::function<void(const std::string&)>
        progress;  // one line for each group, before it runs; may be empty
};

// Rows, peaks and elapsed time; the caller adds what it knows of the run. A backend that refuses, or whose
// code throws, is a row; std::bad_alloc and the like come out.
BenchReport run_bench(const BenchRequest& request, const BenchWorld& world);

}  // namespace switchyard::bench
