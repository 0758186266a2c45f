#include "core/workbench/cli/train/train_record.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/machine/cpu_allocator.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/train/shadow_text.h"

namespace switchyard::cli {
namespace {

double wall_time() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// "1 graph, 118 replays"; empty: steps are not captured.
std::string graphs_text(const device_graph::GraphCounts& graphs) {
    if (!graphs.any()) return "";
    return counted(static_cast<std::size_t>(graphs.captures), "graph") + ", " +
           counted(static_cast<std::size_t>(graphs.replays), "replay");
}

// "padding 31 %"; empty: less than half a percent.
std::string share_text(const std::string& what, double share) {
    const auto percent = std::llround(100.0 * share);
    return percent < 1 ? "" : what + " " + std::to_string(percent) + " %";
}

// Of the step and the wait for its batches.
double seconds_of(const train::StepReport& report) {
    return std::max(report.milliseconds / 1000.0 + report.loader.wait_seconds, 1e-9);
}

}  // namespace

std::string communication_text(const distributed::Communication& communication) {
    const double milliseconds = 1000.0 * communication.seconds / static_cast<double>(communication.steps);
    return "communication: " + base::digits(milliseconds) + " ms a step in " +
           counted(communication.typical.sums.size(), "sum") + ", " +
           base::digits(100.0 * communication.hidden_share(), 3) + " % of it hidden behind backward";
}

std::string quality_text(const train::EvalResult& result) {
    std::ostringstream text;
    if (result.accuracy) text << "accuracy " << *result.accuracy << ", ";
    if (result.perplexity) text << "perplexity " << *result.perplexity << ", ";
    for (const auto& [name, value] : result.metrics) {
        const bool in_records_alone =
            name.find('/') != std::string::npos || name == "macro_precision" || name == "macro_recall";
        if (!in_records_alone) text << name << ' ' << value << ", ";
    }
    if (result.labels > 0)
        text << "loss " << result.loss;
    else
        text << "loss undefined";
    return text.str();
}

TrainRecord::TrainRecord(const train::RunDirectory& run, const train::Trainer& trainer,
                         const config::Config& config, const train::Utilization& utilization, LogCommand& log)
    : path_(run.file("metrics.jsonl")),
      metrics_(train::open_metrics(path_, trainer.state().progression.step, trainer.evaluates_first())),
      utilization_(utilization),
      log_(log),
      board_(run.file("tensorboard"), wall_time()),
      log_every_(config.train.log_every),
      lr_(trainer.learning_rate()) {
    board_.starts(wall_time(), trainer.state().progression.step + 1);
}

void TrainRecord::Since::add(const train::StepReport& report, double seconds_of_step) {
    seconds += seconds_of_step;
    samples += report.samples;
    tokens += report.tokens;
    work += report.work;
    if (!std::isfinite(report.loss)) return;
    loss += report.loss;
    ++losses;
}

double TrainRecord::Since::mean_loss() const {
    return losses > 0 ? loss / static_cast<double>(losses) : std::numeric_limits<double>::quiet_NaN();
}

std::string TrainRecord::step(const train::StepReport& report) {
    smooth(report);
    since_.add(report, seconds_of(report));
    const double left = (static_cast<double>(report.total_steps - report.step)) * seconds_per_step_;
    progress_.show(
        {"train", report.step, report.total_steps, samples_per_second_, loss_, left, note(report)});
    if (!report.nonfinite.empty()) {
        progress_.finish();
        std::cerr << ("step " + std::to_string(report.step) + ": " + report.nonfinite +
                      (report.skipped ? "; skipped\n" : "\n"));
    }
    const bool due = report.step % log_every_ == 0 || report.step == report.total_steps;
    if (!due && report.nonfinite.empty()) return write_shadow(report);
    const auto since = std::exchange(since_, {});
    const double loss = report.nonfinite.empty() ? since.mean_loss() : report.loss;
    const double lr = lr_ * report.lr_factor;
    const double samples_per_second = static_cast<double>(since.samples) / since.seconds;
    const double tokens_per_second = static_cast<double>(since.tokens) / since.seconds;
    const auto peak_memory = machine::cpu_memory_stats().peak_bytes;
    nlohmann::ordered_json line{{"step", report.step},
                                {"epoch", report.epoch},
                                {"loss", loss},
                                {"lr", lr},
                                {"step_ms", report.milliseconds},
                                {"samples_per_second", samples_per_second},
                                {"tokens_per_second", tokens_per_second},
                                {"peak_memory_bytes", peak_memory}};
    const auto mfu = utilization_.of(since.work, since.seconds);
    if (mfu) line["mfu"] = *mfu;
    if (report.grad_norm >= 0.0) line["grad_norm"] = report.grad_norm;
    line["wait_ms"] = 1000.0 * report.loader.wait_seconds;
    line["padding_share"] = report.loader.padding_share();
    line["tokens_per_batch"] = report.loader.tokens_per_batch();
    if (const auto ready = report.loader.ready_per_batch()) line["ready_batches"] = *ready;
    if (report.skipped) line["skipped"] = true;
    if (!report.nonfinite.empty()) line["nonfinite"] = report.nonfinite;
    if (auto error = write(line); !error.empty()) return error;
    if (auto error = write_shadow(report); !error.empty()) return error;
    std::vector<std::pair<std::string, double>> scalars{
        {"train/loss", loss},
        {"train/lr", lr},
        {"train/samples_per_second", samples_per_second},
        {"train/tokens_per_second", tokens_per_second},
        {"train/peak_memory_bytes", static_cast<double>(peak_memory)},
        {"train/padding_share", report.loader.padding_share()},
        {"train/wait_ms", 1000.0 * report.loader.wait_seconds}};
    if (report.grad_norm >= 0.0) scalars.emplace_back("train/grad_norm", report.grad_norm);
    if (mfu) scalars.emplace_back("train/mfu", *mfu);
    board_.scalars(wall_time(), report.step, scalars);
    return flush_board();
}

// A line of its own: steps with a shadow need not be those that are logged.
std::string TrainRecord::write_shadow(const train::StepReport& report) {
    if (report.shadow.empty()) return "";
    return write({{"step", report.step}, {"shadow", shadow_step_json(report.shadow)}});
}

std::string TrainRecord::eval(std::int64_t step, const train::EvalResult& result) {
    progress_.finish();
    std::cerr << ("step " + std::to_string(step) + ": evaluation " + quality_text(result) + " of " +
                  std::to_string(result.labels) + "\n");
    nlohmann::ordered_json line{{"step", step}, {"eval_loss", result.loss}};
    std::vector<std::pair<std::string, double>> scalars;
    if (result.labels > 0) scalars.emplace_back("eval/loss", result.loss);
    if (result.accuracy) {
        line["eval_accuracy"] = *result.accuracy;
        scalars.emplace_back("eval/accuracy", *result.accuracy);
    }
    if (result.perplexity) {
        line["eval_perplexity"] = *result.perplexity;
        scalars.emplace_back("eval/perplexity", *result.perplexity);
    }
    for (const auto& [name, value] : result.metrics) {
        line["eval_" + name] = value;
        scalars.emplace_back("eval/" + name, value);
    }
    if (auto error = write(line); !error.empty()) return error;
    board_.scalars(wall_time(), step, scalars);
    return flush_board();
}

std::string TrainRecord::rewound(const train::Rewind& rewind) {
    progress_.finish();
    std::cerr << ("step " + std::to_string(rewind.from) + ": back to the checkpoint of step " +
                  std::to_string(rewind.to) + "; data loading continues\n");
    try {
        metrics_ = train::open_metrics(path_, rewind.to, false);
    } catch (const std::exception& error) {
        return error.what();
    }
    board_.starts(wall_time(), rewind.to + 1);
    return write({{"step", rewind.to}, {"rewound_from", rewind.from}, {"nonfinite", rewind.what}});
}

void TrainRecord::say(const std::string& line) {
    progress_.finish();
    std::cerr << line;
}

void TrainRecord::eval_progress(std::int64_t done, std::int64_t total) {
    progress_.show({"evaluate", done, total, 0.0, -1.0, 0.0});
}

// Of metrics.jsonl, and to whoever else gets its lines.
std::string TrainRecord::write(const base::Json& line) {
    if (const auto warning = log_.line(line); !warning.empty()) {
        progress_.finish();
        std::cerr << warning;
    }
    return metrics_.write(line);
}

// What is at the end of the line of progress: steps that were captured, padding, the wait for data.
std::string TrainRecord::note(const train::StepReport& report) const {
    std::string text = graphs_text(report.graphs);
    for (const auto& more :
         {share_text("padding", padding_share_), share_text("waits for data", wait_share_)})
        if (!more.empty()) base::add_item(text, more);
    return text;
}

void TrainRecord::smooth(const train::StepReport& report) {
    const double seconds = seconds_of(report);
    const double rate = static_cast<double>(report.samples) / seconds;
    const double keep = started_ ? 0.95 : 0.0;
    if (std::isfinite(report.loss)) loss_ = keep * loss_ + (1.0 - keep) * report.loss;
    samples_per_second_ = keep * samples_per_second_ + (1.0 - keep) * rate;
    seconds_per_step_ = keep * seconds_per_step_ + (1.0 - keep) * seconds;
    padding_share_ = keep * padding_share_ + (1.0 - keep) * report.loader.padding_share();
    wait_share_ = keep * wait_share_ + (1.0 - keep) * report.loader.wait_seconds / seconds;
    started_ = true;
}

std::string TrainRecord::flush_board() {
    return board_.flush() ? "" : "cannot write " + board_.path() + ": is the disk full?";
}

}  // namespace switchyard::cli
