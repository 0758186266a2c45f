// What the command line of `switchyard bench` says, and what is made of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/resolver/plan.h"
#include "core/workbench/bench/bench_run.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {

struct BenchOptions {
    std::string what;
    JobOptions job;  // --set alone
    std::vector<std::string> backends, shapes, dtypes, passes, masks;
    std::string base, lengths, layout = "padded";
    std::string norm = "layer_norm", activation = "gelu_erf", algorithm = "adamw",
                parameter_dtype = "float32";
    bool causal = false, bias = false, residual = false, in_place = false;
    double dropout = 0.0, label_smoothing = 0.0, z_loss = 0.0, clip = 0.0;
    int blocks = 0, threads = 0;
    double time_budget = 40.0;
    std::uint64_t seed = 1;
    std::string sweep, memory_budget;
    JsonOption json;
};

// All of these throw Failure with what was expected.
Kind read_bench_kind(const std::string& text);
bench::BenchSettings read_bench_settings(const BenchOptions& options, Kind kind);
std::vector<DType> read_bench_dtypes(const BenchOptions& options, Kind kind);
std::vector<bench::Pass> read_bench_passes(const BenchOptions& options, Kind kind);
std::vector<bench::BenchShape> read_bench_shapes(const BenchOptions& options,
                                                 const bench::BenchSettings& settings);
bench::TimingOptions read_bench_timing(const BenchOptions& options);

// Those that were named, checked; or all that are usable.
std::vector<std::string> choose_backends(const BenchOptions& options, Kind kind,
                                         const std::vector<resolver::Candidate>& candidates);
// What ratios are over: the one that was named, else torch, else the first. It becomes the first of the
// backends.
std::string choose_base(const BenchOptions& options, Kind kind,
                        const std::vector<resolver::Candidate>& candidates,
                        std::vector<std::string>& backends);

// --sweep and --memory-budget into the request, once its shapes and backends are known: the option is
// declared by one of the backends, and takes these values.
void read_bench_sweep(const BenchOptions& options, const std::vector<resolver::Candidate>& candidates,
                      bench::BenchRequest& request);

}  // namespace switchyard::cli
