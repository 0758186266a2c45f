// What a component costs beyond the plain LibTorch calls that do the same: the same work twice, once through
// the whole calling path of the core (operation, guard, autograd bridge, component), once without it.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/workbench/bench/bench_run.h"

namespace switchyard::bench {

struct OverheadRow {
    Kind kind = Kind::attention;
    std::string shape, settings;
    DType dtype = DType::float32;
    Pass pass = Pass::forward;
    std::string asked, ran;
    std::string message;  // why there is no time; empty if there is one
    Interval bare_ms, ms;
    Interval ratio;  // time of the component over that of the plain calls
    int blocks = 0;
    int outliers = 0;
};

struct OverheadReport {
    std::vector<OverheadRow> rows;
    double limit = 0.03;  // a row is over it when its whole interval is

    bool over(const OverheadRow& row) const { return row.ratio.low > 1.0 + limit; }
    // 3 if a row is over the limit, 1 if none was timed, else 0.
    int exit_code() const;
};

// One request a kind, with the default shape of each; they share the time budget of the first.
OverheadReport run_overhead(const std::vector<BenchRequest>& requests, const BenchWorld& world);

std::string to_text(const OverheadReport& report);
nlohmann::json to_json(const OverheadReport& report);

}  // namespace switchyard::bench
