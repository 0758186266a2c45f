// The result of a bench: rows, the peaks that they are set against, and what is needed to run it again. As
// text for people and as JSON for programs (docs/schema/bench.json). No LibTorch here.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>
#include "core/workbench/bench/bench_settings.h"
#include "core/workbench/bench/measure/peaks.h"
#include "core/workbench/bench/measure/statistics.h"

namespace switchyard::bench {

// ok: timed, and right;  wrong: timed, but its error is above what is allowed;  refused: it does not serve
// the request;  failed: it threw.
enum class RowStatus : std::uint8_t { ok, wrong, refused, failed };

// How far a backend's results are from the float64 oracle, for the result that is worst off.
struct ErrorReport {
    double error = std::numeric_limits<double>::quiet_NaN();  // relative to the oracle's root mean square
    double allowed = std::numeric_limits<double>::quiet_NaN();
    std::string of;                // "rms of grad q", "max of out"
    std::string part;              // what was checked, "" for all of it
    bool without_dropout = false;  // the backend draws random numbers of its own: checked with dropout off

    bool exceeded() const { return !(error <= allowed); }
};

// One backend on one shape, dtype and pass. NaN where there is nothing to say.
struct BenchRow {
    BenchSettings settings;
    DType dtype = DType::float32;
    std::string shape;
    Pass pass = Pass::forward;

    std::string asked;                       // the backend as it was named
    std::string plugin, component, variant;  // that ran; several variants are joined by '+'
    std::vector<std::pair<std::string, std::uint64_t>> executed;  // calls by variant
    std::vector<std::string> composed;                            // parts done by the core around it
    std::string swept_option;                                     // "": none
    std::int64_t swept_value = 0;

    RowStatus status = RowStatus::ok;
    std::vector<Reason> reasons;  // refused
    std::string message;          // failed, or refused before a component was asked

    std::string base;  // named() of what `speedup` is over
    Interval ms;
    std::optional<Interval> speedup;
    int blocks = 0;
    int outliers = 0;
    int calls_per_sample = 1;

    double gflops = std::numeric_limits<double>::quiet_NaN();
    double gbytes_per_second = std::numeric_limits<double>::quiet_NaN();
    double percent_of_peak = std::numeric_limits<double>::quiet_NaN();
    double percent_of_copy_bandwidth = std::numeric_limits<double>::quiet_NaN();
    double percent_of_read_bandwidth = std::numeric_limits<double>::quiet_NaN();
    bool memory_bound = false;
    bool reads_only = false;       // see Work
    double footprint_bytes = 0.0;  // that one call reads and writes
    std::int64_t extra_memory_bytes = -1;
    std::int64_t state_bytes = 0;   // that the backend keeps from call to call
    std::int64_t spared_bytes = 0;  // of the arguments, which it reads in a smaller form
    bool reduced = false;           // of Accuracy::reduced: it may be faster than the products of its dtype
    ErrorReport error;

    // "torch/torch", "chunked chunk_size=64": as it was asked for.
    std::string named() const;
    bool is_base() const { return named() == base; }
    bool timed() const { return status == RowStatus::ok || status == RowStatus::wrong; }
    // "torch@math", "chunked chunk_size=64"; with the plugin before it where that has another name than the
    // component.
    std::string ran() const;
};

std::string swept_name(const std::string& backend, const std::string& option, std::int64_t value);

struct BenchReport {
    std::vector<BenchRow> rows;  // in groups of one shape, dtype and pass
    Peaks peaks;
    HostInfo host;
    std::string command;
    std::uint64_t seed = 0;
    int threads = 0;
    std::string allocator;
    double elapsed_ms = 0.0;
    std::int64_t memory_budget_bytes = 0;  // of a sweep's choice; 0: none

    // 5: a backend is wrong; 1: one failed; 2: none was timed, for all refused; else 0.
    int exit_code() const;
};

// One table for each group, what was thrown away, and the peaks. At most 110 columns wide.
std::string to_text(const BenchReport& report);

nlohmann::json to_json(const BenchReport& report);
nlohmann::json to_json(const HostInfo& host);
nlohmann::json to_json(const Peaks& peaks);

}  // namespace switchyard::bench

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 4> names<bench::RowStatus>{"ok", "wrong", "refused", "failed"};
}  // namespace switchyard
