// What a training run writes down on its way: metrics.jsonl, TensorBoard's file, and lines for whoever
// watches.
#pragma once

#include <cstdint>
#include <string>

#include "core/workbench/cli/log_command.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/train/run_directory.h"
#include "core/workbench/train/tensorboard.h"
#include "core/workbench/train/trainer.h"
#include "core/workbench/train/utilization.h"

namespace switchyard::cli {

// "communication: 3.1 ms a step in 4 sums, 71 % of it hidden behind backward"
std::string communication_text(const distributed::Communication& communication);

// "accuracy 0.71, perplexity 4.2, loss 1.43"
std::string quality_text(const train::EvalResult& result);

class TrainRecord {
public:
    // `utilization` and `log` outlive it. Throws std::runtime_error naming the file that cannot be written.
    TrainRecord(const train::RunDirectory& run, const train::Trainer& trainer, const config::Config& config,
                const train::Utilization& utilization, LogCommand& log);

    // Each gives an error text that names the file that cannot be written; empty: none.
    std::string step(const train::StepReport& report);
    std::string eval(std::int64_t step, const train::EvalResult& result);
    // What was written of the steps that are done again goes, as when a run is resumed.
    std::string rewound(const train::Rewind& rewind);
    // Before a checkpoint, which must not be there without the metrics of its steps.
    std::string sync() { return metrics_.sync(); }

    // A line for people, beside the bar.
    void say(const std::string& line);
    void eval_progress(std::int64_t done, std::int64_t total);
    void finish() { progress_.finish(); }

private:
    // Steps since the last line, of this process: what is not finite is left out of the loss.
    struct Since {
        double loss = 0.0, seconds = 0.0;
        std::int64_t losses = 0, samples = 0, tokens = 0;
        model::Work work;
        void add(const train::StepReport& report, double seconds_of_step);
        double mean_loss() const;
    };

    std::string write(const base::Json& line);
    std::string write_shadow(const train::StepReport& report);
    std::string note(const train::StepReport& report) const;
    void smooth(const train::StepReport& report);
    std::string flush_board();

    std::string path_;
    train::StepLog metrics_;
    const train::Utilization& utilization_;
    LogCommand& log_;
    train::TensorBoardWriter board_;
    Progress progress_ = Progress::for_stderr();
    std::int64_t log_every_;
    double lr_;  // Trainer::learning_rate
    Since since_;
    bool started_ = false;
    // Smoothed; seconds_per_step_ has the wait for data in it, wait_share_ is its share.
    double loss_ = 0.0, samples_per_second_ = 0.0, seconds_per_step_ = 0.0;
    double padding_share_ = 0.0, wait_share_ = 0.0;
};

}  // namespace switchyard::cli
