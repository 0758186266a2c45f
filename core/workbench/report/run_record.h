// What stands in the folder of a run, as far as a report tells it; and a timed comparison of stacks of
// backends.
//
// Keys that are missing, null or of another type are taken as unknown, and what is unknown is not shown: a
// run that continues, that was stopped, or that another version wrote can be reported too. Text that is not
// JSON is an error with its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel/base/input_error.h"
#include "core/workbench/report/number_text.h"
#include "core/workbench/report/run_origin.h"
#include "core/workbench/report/series.h"
#include "core/workbench/report/shadow_record.h"
#include "core/workbench/score/confusion_matrix.h"

namespace switchyard::report {

using base::InputError;

// A name and a value, as they are shown.
using Fact = std::pair<std::string, std::string>;

struct PlanRow {
    std::string slot, layers, phase;
    std::string component;           // "torch/bf16 0.1.0"; empty: none was chosen
    std::string how, from;           // "named", "configs/demo.toml:30:1"
    std::vector<std::string> notes;  // who was passed over or refused and why, what the core composes
    std::string error;
    bool unverified =
        false;  // what was chosen came from somebody else, and no run of conformance passed for it
};

// Counted where it ran.
struct Executed {
    std::string slot, layers, phase, component;
    std::string variant;
    std::int64_t calls = 0;
};

struct WorstSample {
    std::string label, predicted, text;
    std::optional<double> loss;  // none: not finite
};

// Sums of gradients over ranks, beside backward.
struct Communication {
    struct Sum {
        double bytes = 0.0, begin_ms = 0.0, end_ms = 0.0;  // from the beginning of backward
    };
    double steps = 0.0, ms_a_step = 0.0, backward_ms_a_step = 0.0;
    double hidden = 0.0;  // share of the time of sums
    // Of one step.
    double backward_ms = 0.0;
    std::vector<Sum> sums;
};

struct Summary {
    std::string status, error;
    std::optional<double> steps, process_steps, skipped_steps;
    std::optional<double> ranks;                        // processes that shared the training
    std::optional<double> wall_seconds, train_seconds;  // of the process that ended the run
    std::optional<double> samples_per_second, tokens_per_second;
    std::optional<double> mfu;         // share of matmul_peak
    std::optional<double> peak_flops;  // that products of matrices reach in a second
    std::string peak_of;               // "float32, mm of 1024 x 1024"
    std::optional<Interval> step_ms;
    std::optional<double> train_loss, eval_loss, eval_accuracy, eval_perplexity, eval_labels;
    std::vector<std::pair<std::string, double>> eval_metrics;  // of its task, "mae" or "mae/COLUMN"
    std::optional<score::ConfusionMatrix> confusion;
    std::vector<WorstSample> worst;
    std::optional<double> best_step, best_value;  // with train.keep_best
    std::string best_metric;                      // "eval.accuracy"
    std::optional<double> peak_bytes;
    std::vector<std::pair<std::string, double>> memory;  // "parameters", bytes
    std::vector<Fact> rows;                              // of the data
    std::vector<Executed> executed;
    std::optional<Communication> communication;
    std::vector<ShadowRow> shadow;
};

// metrics.jsonl: by name ("loss", "grad_norm", "eval_loss", ...) the finite values over the step.
struct Metrics {
    std::map<std::string, Points> curves;
    std::size_t lines = 0;
    bool cut_off = false;  // the last line was being written
    std::size_t bad_losses = 0;
    double first_bad_loss = 0.0;  // its step

    const Points& curve(const std::string& name) const;
};

struct StackRow {
    std::string name;
    std::string details;  // what this row has that others have not: dtype, shape, pass
    std::string ran;      // "attention torch@math, ..."
    std::string message, verdict;
    bool is_base = false;
    std::optional<Interval> ms, speedup;
    std::optional<double> memory_bytes;
};

struct StackTimes {
    std::string file;
    std::string base;
    std::string what;  // what all rows have in common: "layer, forward_backward, bfloat16"
    bool whole_runs =
        false;  // of `switchyard compare`: memory is the peak, not what a call takes beyond its inputs
    std::vector<StackRow> rows;
    std::vector<Fact> host;
    std::string command;
};

// A key that was another when the run was gone on with.
struct Change {
    std::string step, key, before, now;  // from which step on
};

struct RunRecord {
    std::string folder;
    RunOrigin origin;
    std::optional<Summary> summary;
    std::optional<Metrics> metrics;
    std::vector<PlanRow> plan;
    std::vector<Fact> host;
    std::string config;           // as the run was begun
    std::vector<Change> changes;  // since then

    // The value of a key in the configuration, unquoted; "" if it is not there.
    std::string configured(const std::string& table, const std::string& key) const;
};

// Throws InputError: there is no such folder, no run in it, or something in it cannot be read.
RunRecord read_run(const std::string& folder);

StackTimes read_stack_times(const std::string& file);

}  // namespace switchyard::report
