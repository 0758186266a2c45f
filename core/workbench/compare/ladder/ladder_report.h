// What came out of a ladder: its rungs with their speeds over the base and over what they stand on, what
// could not run here and why, and what was published; as text, as JSON and as a section of the page.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/workbench/bench/measure/ratio_estimate.h"
#include "core/workbench/compare/ladder/ladder.h"

namespace switchyard::compare {

// What became of a rung before anything ran.
struct RungPlace {
    std::optional<std::size_t> arm;  // its index in the comparison; nothing: it cannot run here
    std::string unavailable;         // why
    std::string chosen;              // which components serve it
    std::int64_t batch = 0;          // samples of a step; 0: not known
    double learning_rate = 0.0;
};

struct LadderRow {
    const Rung* rung = nullptr;
    const RungPlace* place = nullptr;
    const ArmResult* result = nullptr;  // nullptr: it did not run
    int depth = 0;
    bool writes = false;  // new tokens are counted, not samples: Operation::generate

    bool ran() const { return result != nullptr && result->ok(); }
    // "unavailable" where it cannot run here, else what became of its arm.
    std::string status() const;
    // Why it did not run; "" where it did.
    const std::string& reason() const;
    // Nothing where one of the two did not run, and for what stands on the ground.
    std::optional<bench::RatioEstimate> over_base, over_parent;
    // Over the seeds the median on held-out samples, by what the task is told by; nothing: it is not known.
    std::optional<double> accuracy, perplexity;
    const std::optional<double>& score(EvalMetric metric) const {
        return metric == EvalMetric::accuracy ? accuracy : perplexity;
    }
};

// Why a rung did not run: the reason, or "as NAME" where it is that of a rung before it.
std::string why_not_run(const LadderRow& row, const std::vector<LadderRow>& rows);

// The score that some rung has, which then has a column; nothing: none has one.
std::optional<EvalMetric> ladder_score(const std::vector<LadderRow>& rows);

// One for each rung, in the ladder's order; the base is the rung on the ground. All arguments outlive it.
std::vector<LadderRow> ladder_rows(const Ladder& ladder, const std::vector<RungPlace>& places,
                                   const Comparison& comparison);

// Before anything runs: the tree, what each rung changes, which of them cannot run.
std::string ladder_plan_text(const Ladder& ladder, const std::vector<RungPlace>& places);
// `scale`: the name that `--scale` was given; "": none.
std::string ladder_text(const Ladder& ladder, const std::string& scale, const std::vector<LadderRow>& rows);
nlohmann::ordered_json ladder_json(const Ladder& ladder, const std::string& scale,
                                   const std::vector<LadderRow>& rows);
std::string ladder_section(const Ladder& ladder, const std::string& scale,
                           const std::vector<LadderRow>& rows);

}  // namespace switchyard::compare
