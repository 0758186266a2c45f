// One option of a component over a range of values: time and memory beside each other, and the best for a
// memory budget.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/bench/bench_report.h"

namespace switchyard::bench {

struct Sweep {
    std::string option;                // as the component's plugin declares it: "chunk_size"
    std::vector<std::int64_t> values;  // at least two, each once, in the order of the tables
};

// "chunk_size=64,128,256"; without values: powers of two from 32 to `longest`, at least two. Returns what is
// wrong with it, or "".
std::string read_sweep(const std::string& text, std::int64_t longest, Sweep& sweep);

// "96MB", "1.5GB", "800000": decimal units, as tables print them. nullopt: not such a text.
std::optional<std::int64_t> read_bytes(const std::string& text);

// The swept rows of one group [begin, end) drawn as bars, and the fastest of them whose extra memory is
// within the budget (0: none was given, then over all).
// "" where nothing was swept.
std::string sweep_text(const BenchRow* begin, const BenchRow* end, std::int64_t memory_budget_bytes);

}  // namespace switchyard::bench
