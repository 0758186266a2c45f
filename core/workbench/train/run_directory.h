// The folder of one run and what stands in it:
//
//     config.toml record.json  as the run was begun, written once
//     changes.jsonl            what differed when it was gone on with, each with the step from which on that
//                              holds
//     vocab.txt (unless the tokenizer has none)  plan.json
//     tokenizer/               instead of vocab.txt, if the tokenizer is of other or of several files
//     label_scale.json (of a regression that standardizes)  mean and deviation of each column
//     skipped.jsonl (where rows were skipped)  each with its place and why
//     log_output.txt (with log.command)  what that program printed
//     metrics.jsonl tensorboard/  checkpoints/  summary.json
//     model/                   in Hugging Face's format, at the end
//     adapter/ (with [lora])   in PEFT's format; merged into model
//     .lock                    see run_lock.h
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/workbench/train/best_so_far.h"

namespace switchyard::train {

// Bytes of the files of a save, in the order in which they are written.
using SaveSizes = std::vector<std::int64_t>;

class RunDirectory {
public:
    // Whether a run began there: it has checkpoints, or metrics beside the record of a run.
    static bool holds_run(const std::string& path);
    // Why no run can begin there: it holds a run, or something that is no run's. Empty: one can; it then
    // holds nothing, or what a start left that was cut short.
    static std::string cannot_begin(const std::string& path);
    // Makes it, durably, and removes what a killed process left half written. `record`: text of record.json,
    // the first file of a run that begins; empty: it goes on. An error text if it cannot be made or written,
    // or has no room for a first save.
    static std::string prepare(const std::string& path, const std::string& record, const SaveSizes& sizes);

    explicit RunDirectory(std::string path) : path_(std::move(path)) {}
    std::string file(const std::string& name) const { return path_ + "/" + name; }
    std::string vocabulary() const { return file("vocab.txt"); }
    std::string tokenizer() const { return file("tokenizer"); }
    std::string label_scale() const { return file("label_scale.json"); }
    std::string checkpoints() const { return file("checkpoints"); }
    std::string adapter() const { return file("adapter"); }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

// A file of one JSON object a line, each with "step". Begun again on resuming: lines of steps that are done
// again are dropped, and what is no whole line.
class StepLog {
public:
    using Keep = std::function<bool(std::int64_t step, const nlohmann::ordered_json& line)>;
    // Throws std::runtime_error naming the file.
    StepLog(std::string path, const Keep& keep);
    ~StepLog();
    StepLog(StepLog&& other) noexcept;
    StepLog& operator=(StepLog&& other) noexcept;

    // Each gives an error text that names the file; empty: none.
    std::string write(const nlohmann::ordered_json& line);
    // Tries again what could not be written; what was written is durable from here on.
    std::string sync();

private:
    std::string flush();
    std::string failed() const;

    std::string path_;
    int descriptor_ = -1;
    std::string unwritten_;  // lines that could not be written
};

// metrics.jsonl: keeps lines with a step of at most `step`, but no evaluation of that very step if it is made
// again.
StepLog open_metrics(const std::string& path, std::int64_t step, bool evaluated_again);

// Those in metrics.jsonl of at most `step` steps, by the metric of this name ("accuracy").
std::vector<Evaluation> evaluations_until(const std::string& path, std::int64_t step,
                                          const std::string& metric);

// changes.jsonl: keeps lines with a step of less than `step`: what a process changes at its first step holds
// for what comes after.
StepLog open_changes(const std::string& path, std::int64_t step);

}  // namespace switchyard::train
