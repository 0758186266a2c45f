// A comparison as far as a page tells it: made by `switchyard compare`, or read from what its --json wrote.
// Keys that are missing or hold something else are unknown, and what is unknown is not shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/workbench/report/number_text.h"
#include "core/workbench/report/run_record.h"
#include "core/workbench/report/series.h"

namespace switchyard::report {

struct ArmRecord {
    std::string name, status, reason, what, dtype;
    std::string ran;                   // "attention torch@math, ..."
    std::vector<std::string> differs;  // what makes it no fair comparison
    bool ok = false;
    std::optional<Interval> step_ms;
    std::optional<double> samples_per_second, tokens_per_second, peak_bytes;
    std::optional<double> drift_loss, drift_output, drift_gradient;
    std::optional<double> allowed_output, allowed_gradient;
    std::optional<double> skipped_steps, loss_drift;
    std::optional<bool> stable;  // nothing: cannot be told
    std::string stability_reason;
    bool judged = false;  // the record says something of stability
    Points losses;        // over the step, from 1
    std::vector<Points> seed_losses;
    std::vector<double> final_losses;
    Points blocks, outliers;  // ms of a step over the number of the block, from 1
};

struct PairRecord {
    std::string base, arm, verdict, sentence;
    std::optional<Interval> speedup;
    std::string loss_verdict, loss_reason;
    std::optional<double> loss_difference, loss_low, loss_high;
};

struct ComparisonRecord {
    std::string title, command;
    std::vector<ArmRecord> arms;
    std::vector<PairRecord> pairs;
    std::vector<Fact> host;
    // As they are shown; empty: not known.
    std::string config, config_fingerprint, blocks, steps_per_block, lead_in_steps, warm_up_steps, seed;
    std::string margin;  // of the final losses, as text; empty: not compared
    double loss_steps = 0.0;
    bool stopped = false;
};

// Parts of it, from numbers of which some may not be finite: those are not known.
std::optional<double> if_finite(double value);
std::vector<double> finite(std::vector<double> values);
Points over_steps(const std::vector<double>& values);
std::string margin_text(double size, bool relative);

// `file` names it in errors. Throws InputError for what is no comparison.
ComparisonRecord read_comparison(const std::string& text, const std::string& file);

// Its own arms as stacks of backends, for the page of a run.
StackTimes stack_times(const ComparisonRecord& comparison, const std::string& file);

// Whether this is a comparison's JSON rather than a bench's.
bool is_comparison(const std::string& text);

}  // namespace switchyard::report
