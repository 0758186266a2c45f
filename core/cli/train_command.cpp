// switchyard train CONFIG
#include <chrono>
#include <cmath>
#include <iostream>
#include <optional>
#include <sstream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <switchyard/cli/commands.h>
#include <switchyard/cli/output.h>
#include <switchyard/cli/planned_job.h>
#include <switchyard/cli/train_summary.h>
#include <switchyard/config/show.h>
#include <switchyard/base/atomic_file.h>
#include <switchyard/model/weights/load_weights.h>
#include <switchyard/resolver/plan_json.h>
#include <switchyard/train/checkpoint.h>
#include <switchyard/train/progress.h>
#include <switchyard/train/run_directory.h>
#include <switchyard/train/session.h>
#include <switchyard/train/stop_signal.h>
#include <switchyard/train/tensorboard.h>

namespace switchyard::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct TrainOptions {
    JobOptions job;
    std::string run = "runs/train";
    bool resume = false;
    bool trace_nonfinite = false;
};

double wall_time() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// "accuracy 0.71, perplexity 4.2, loss 1.43"
std::string quality_text(const train::EvalResult& result) {
    std::ostringstream text;
    if (result.accuracy) text << "accuracy " << *result.accuracy << ", ";
    if (result.perplexity) text << "perplexity " << *result.perplexity << ", ";
    text << "loss " << result.loss;
    return text.str();
}

// "1 graph, 118 replays"; empty: steps are not captured.
std::string graphs_text(const train::GraphCounts& graphs) {
    if (!graphs.any()) return "";
    return counted(static_cast<std::size_t>(graphs.captures), "graph") + ", " +
           counted(static_cast<std::size_t>(graphs.replays), "replay");
}

// Metrics, TensorBoard and progress of one run.
class Record {
public:
    Record(const train::RunDirectory& run, const train::Trainer& trainer, std::int64_t log_every)
        : path_(run.file("metrics.jsonl")),
          metrics_(path_, trainer.state().progression.step, trainer.evaluates_first()),
          board_(run.file("tensorboard"), wall_time()),
          log_every_(log_every) {}

    void step(const train::StepReport& report) {
        smooth(report);
        const double left = (static_cast<double>(report.total_steps - report.step)) * seconds_per_step_;
        progress_.show({"train", report.step, report.total_steps, samples_per_second_, loss_, left,
                        graphs_text(report.graphs)});
        if (!report.nonfinite.empty()) {
            progress_.finish();
            std::cerr << "step " << report.step << ": " << report.nonfinite
                      << (report.skipped ? "; skipped" : "") << '\n';
        }
        const bool due = report.step % log_every_ == 0 || report.step == report.total_steps;
        if (!due && report.nonfinite.empty()) return;
        nlohmann::ordered_json line{{"step", report.step},
                                    {"epoch", report.epoch},
                                    {"loss", report.loss},
                                    {"lr_factor", report.lr_factor},
                                    {"step_ms", report.milliseconds},
                                    {"samples_per_second", samples_per_second_}};
        if (report.grad_norm >= 0.0) line["grad_norm"] = report.grad_norm;
        if (report.skipped) line["skipped"] = true;
        if (!report.nonfinite.empty()) line["nonfinite"] = report.nonfinite;
        metrics_.write(line);
        board_.scalars(wall_time(), report.step,
                       {{"train/loss", report.loss},
                        {"train/lr_factor", report.lr_factor},
                        {"train/grad_norm", report.grad_norm},
                        {"train/samples_per_second", samples_per_second_}});
        board_.flush();
    }

    // What was written of the steps that are done again goes, as when a run is resumed.
    void rewound(const train::Rewind& rewind) {
        progress_.finish();
        std::cerr << "step " << rewind.from << ": back to the checkpoint of step " << rewind.to
                  << ", the data go on\n";
        metrics_ = train::MetricsLog(path_, rewind.to, false);
        metrics_.write({{"step", rewind.to}, {"rewound_from", rewind.from}, {"nonfinite", rewind.what}});
    }

    void eval(std::int64_t step, const train::EvalResult& result) {
        progress_.finish();
        std::cerr << "step " << step << ": evaluation " << quality_text(result) << " of " << result.labels
                  << '\n';
        nlohmann::ordered_json line{{"step", step}, {"eval_loss", result.loss}};
        std::vector<std::pair<std::string, double>> scalars{{"eval/loss", result.loss}};
        if (result.accuracy) {
            line["eval_accuracy"] = *result.accuracy;
            scalars.emplace_back("eval/accuracy", *result.accuracy);
        }
        if (result.perplexity) {
            line["eval_perplexity"] = *result.perplexity;
            scalars.emplace_back("eval/perplexity", *result.perplexity);
        }
        metrics_.write(line);
        board_.scalars(wall_time(), step, scalars);
        board_.flush();
    }

    void eval_progress(std::int64_t done, std::int64_t total) {
        progress_.show({"evaluate", done, total, 0.0, -1.0, 0.0});
    }
    void finish() { progress_.finish(); }

private:
    void smooth(const train::StepReport& report) {
        const double rate =
            static_cast<double>(report.samples) / std::max(report.milliseconds / 1000.0, 1e-9);
        const double keep = started_ ? 0.95 : 0.0;
        if (std::isfinite(report.loss)) loss_ = keep * loss_ + (1.0 - keep) * report.loss;
        samples_per_second_ = keep * samples_per_second_ + (1.0 - keep) * rate;
        seconds_per_step_ = keep * seconds_per_step_ + (1.0 - keep) * report.milliseconds / 1000.0;
        started_ = true;
    }

    std::string path_;
    train::MetricsLog metrics_;
    train::TensorBoardWriter board_;
    train::Progress progress_ = train::Progress::for_stderr();
    std::int64_t log_every_;
    bool started_ = false;
    double loss_ = 0.0, samples_per_second_ = 0.0, seconds_per_step_ = 0.0;
};

// Where a run goes on from; nothing for one that begins.
std::optional<std::string> starting_point(const TrainOptions& options, const train::RunDirectory& run) {
    if (!options.resume) return std::nullopt;
    auto newest = train::newest_checkpoint(run.checkpoints());
    if (!newest && !train::RunDirectory::holds_run(run.path()))
        throw Failure(run.path() + ": error: there is no run to go on with; leave --resume out to begin one");
    return newest;
}

void resume_from(const std::string& checkpoint, train::Session& session, train::Trainer& trainer) {
    const auto loaded = train::load_checkpoint(checkpoint, session.plan_text(), session.parameters());
    if (!loaded.state) throw Failure(loaded.error);
    if (!loaded.state->other_policy.empty()) {
        std::cerr << checkpoint << " was saved under precision " << loaded.state->other_policy
                  << ": parameters are made of its float32 values\n";
    }
    try {
        trainer.restore(*loaded.state);
    } catch (const std::exception& error) {
        throw Failure(checkpoint + ": does not fit this job: " + error.what());
    }
}

void describe_data(const train::Session& session) {
    const auto& rows = session.data().train_rows;
    const auto& eval = session.data().eval_rows;
    std::cerr << "data: " << rows.used << " samples to learn from, " << eval.used << " to evaluate on ("
              << rows.read + eval.read << " rows read, " << rows.skipped + eval.skipped << " skipped, "
              << rows.truncated + eval.truncated << " cut to " << session.config().batch.max_length
              << " tokens)\n";
    if (const auto both = session.data().also_in_train; both > 0)
        std::cerr << "warning: data.eval: " << both << " of " << eval.used
                  << " texts are in data.train too: what is measured on them is learnt by heart\n";
    for (const auto& note : session.initial_weights().notes) std::cerr << "warning: " << note << '\n';
    const auto& fresh = session.initial_weights().fresh;
    if (!fresh.empty())
        std::cerr << "not in " << session.initial_weights().file << ", newly initialised: " << joined(fresh)
                  << '\n';
}

train::TrainingResult run_training(train::Session& session, train::Trainer& trainer,
                                   const train::RunDirectory& run, const train::StopSignal& stop) {
    Record record(run, trainer, session.config().train.log_every);
    train::TrainerHooks hooks;
    hooks.on_step = [&](const auto& report) { record.step(report); };
    hooks.on_eval = [&](std::int64_t step, const auto& result) { record.eval(step, result); };
    hooks.on_eval_progress = [&](std::int64_t done, std::int64_t total) {
        record.eval_progress(done, total);
    };
    hooks.save = [&](const train::TrainingState& at) {
        return train::save_checkpoint(run.checkpoints(), at, session.parameters(),
                                      session.config().train.keep_checkpoints)
            .value_or("");
    };
    hooks.reload = [&]() -> train::LoadedCheckpoint {
        const auto newest = train::newest_checkpoint(run.checkpoints());
        if (!newest) return {std::nullopt, run.checkpoints() + " holds none"};
        return train::load_checkpoint(*newest, session.plan_text(), session.parameters());
    };
    hooks.on_rewind = [&](const train::Rewind& rewind) { record.rewound(rewind); };
    hooks.stop = [&] { return static_cast<bool>(stop); };
    auto result = trainer.run(hooks);
    record.finish();
    return result;
}

// An encoder begins and ends no text; its config.json names neither.
model::SpecialTokens special_tokens(const train::Session& session) {
    const auto& ids = session.tokenizer().specials();
    model::SpecialTokens tokens{ids.pad, {}, {}};
    if (session.config().model.type == config::ModelType::bert) return tokens;
    if (ids.bos >= 0) tokens.bos = ids.bos;
    if (ids.eos >= 0) tokens.eos = ids.eos;
    return tokens;
}

int conclude(train::Session& session, train::TrainingResult result, const train::RunDirectory& run,
             const train::TrainingState& state, Clock::time_point begun) {
    const auto& config = session.config();
    if (result.outcome == train::Outcome::finished) {
        const auto tokens = special_tokens(session);
        if (const auto error = model::save_weights(run.file("model"), config, session.parameters(), tokens)) {
            result.outcome = train::Outcome::failed;
            result.error = *error;
        }
    }
    const std::chrono::duration<double> wall = Clock::now() - begun;
    const auto summary =
        train_summary(session, result, training_memory(session, state), wall.count()).dump(2) + "\n";
    if (result.outcome == train::Outcome::failed) {
        // On a full disk this fails as well, and says less than the first error.
        (void)base::write_file_atomically(run.file("summary.json"), summary);
        throw Failure(result.error, result.numerics ? Exit::numerics : Exit::run_failed);
    }
    write_file(run.file("summary.json"), summary);
    if (result.outcome == train::Outcome::stopped) {
        std::cerr << "stopped after step " << result.progression.step << "; go on with --resume\n";
        return Exit::run_failed;
    }
    std::cout << run.path() << ": " << result.progression.step << " steps, evaluation "
              << quality_text(result.eval) << "\n";
    return Exit::fine;
}

int train_job(const TrainOptions& options) {
    const auto begun = Clock::now();
    PlanOptions plan{Missing::measure, ""};
    if (options.resume) plan = {Missing::leave, train::RunDirectory(options.run).file("plan.json")};
    const auto planned = plan_job(options.job, plan);
    train::Session session(planned->config, planned->plan, *planned->registry, planned->host);
    const train::StopSignal stop;
    const train::RunDirectory run(options.run);
    // Everything that can be wrong with the input comes before anything is written.
    const auto checkpoint = starting_point(options, run);
    session.load_tokenizer();
    session.load_data();
    if (!checkpoint) session.load_initial_weights();
    auto trainer = session.make_trainer();
    if (checkpoint) resume_from(*checkpoint, session, trainer);
    if (const auto error = train::RunDirectory::prepare(options.run, options.resume); !error.empty())
        throw Failure(error);
    describe_data(session);
    train::NonfiniteTrace trace;
    if (options.trace_nonfinite) {
        trainer.set_trace(&trace);
        std::cerr << "tracing: inputs, outputs and gradients of every operation are looked at, which is slow\n";
    }
    if (options.resume)
        std::cerr << (checkpoint ? "going on from " + *checkpoint
                                 : run.path() + " has no checkpoint: beginning anew")
                  << '\n';
    std::ostringstream shown;
    config::show(shown, planned->config, false);
    write_file(run.file("config.toml"), shown.str());
    if (const auto vocabulary = session.tokenizer().vocabulary_text(); !vocabulary.empty())
        write_file(run.vocabulary(), vocabulary);
    write_file(run.file("plan.json"), resolver::to_json(planned->plan).dump(2) + "\n");

    return conclude(session, run_training(session, trainer, run, stop), run, trainer.state(), begun);
}

}  // namespace

Action setup_train(CLI::App& command) {
    const auto options = std::make_shared<TrainOptions>();
    add_job_options(command, options->job);
    command.add_option("--run", options->run, "folder for everything that the run leaves")
        ->type_name("DIR")
        ->capture_default_str();
    command.add_flag("--resume", options->resume, "go on from the newest checkpoint in that folder");
    command.add_flag("--trace-nonfinite", options->trace_nonfinite,
                     "look at every operation of every layer, forward and backward, and end at the first NaN or Inf with its "
                     "name; with --resume from the newest checkpoint");
    return telling_input_errors([options] { return train_job(*options); });
}

}  // namespace switchyard::cli
