// Runs beside each other: what is told of each of them, and the keys of the configuration in which they
// differ.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/report/series.h"

namespace switchyard::report {

// One score over the evaluations of a run: x is the step.
struct ListedScore {
    Point last, best;
};

struct ListedRun {
    std::string name;          // its folder, as seen from the one that was listed
    std::string folder;        // its folder, as seen from the working directory
    std::string state;         // finished, stopped, failed, running, interrupted or broken
    std::int64_t written = 0;  // when it last wrote something, seconds since 1970
    std::optional<double> steps, train_loss, samples_per_second;
    std::optional<double> ranks;                // processes that shared the training
    std::map<std::string, ListedScore> scores;  // by the name of the metric: "accuracy", "f1/good"
    std::string kept_metric;                    // that train.keep_best names; "": none
    std::map<std::string, std::string> config;  // values as TOML, by key; empty: not known
    std::vector<std::string> problems;          // what is wrong with it
};

struct RunList {
    std::string folder;
    std::vector<ListedRun> runs;
    std::vector<std::string> metrics;  // that any of them has, the most telling first
    std::vector<std::string>
        differing;  // keys whose values are not the same in all runs of known configuration
};

// "12 runs: 9 finished, 2 stopped, 1 broken".
std::string summary_of(const RunList& list);

// Of the metrics those that stand beside each other in a row: the loss, the one that is sorted by (""; none),
// those that runs keep their best by, or else one more.
std::vector<std::string> metrics_in_rows(const RunList& list, const std::string& sorted_by);

// "0.839", or "0.839, best 0.842 at step 200"; "" where the run does not have it.
std::string score_text(const ListedRun& run, const std::string& metric);

// Whether any of them was trained by several ranks: then their number stands beside each.
bool has_several_ranks(const RunList& list);

// The value of a key in this run; "" where it has none.
std::string value_text(const ListedRun& run, const std::string& key);

// "2026-03-01 14:05", on the clock of this machine.
std::string clock_text(std::int64_t seconds);

}  // namespace switchyard::report
