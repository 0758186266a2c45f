// switchyard train CONFIG
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <utility>

#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/terminal.h"
#include "core/kernel/config/shadow_checks.h"
#include "core/kernel/config/show.h"
#include "core/kernel/config/trainable.h"
#include "core/kernel/resolver/plan_json.h"
#include "core/workbench/cli/answers.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/crowding.h"
#include "core/workbench/cli/infer/export_model.h"
#include "core/workbench/cli/job/auto_choice.h"
#include "core/workbench/cli/job/foreign_config.h"
#include "core/workbench/cli/job/matmul_peak.h"
#include "core/workbench/cli/job/plan_text.h"
#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/cli/job/shared_plan.h"
#include "core/workbench/cli/log_command.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/runs/open_run.h"
#include "core/workbench/cli/train/fit_run.h"
#include "core/workbench/cli/train/resumption.h"
#include "core/workbench/cli/train/shadow_text.h"
#include "core/workbench/cli/train/train_ranks.h"
#include "core/workbench/cli/train/train_record.h"
#include "core/workbench/cli/train/train_summary.h"
#include "core/workbench/data/label_columns.h"
#include "core/workbench/data/tokenizers/tokenizer_source.h"
#include "core/workbench/model/step_flops.h"
#include "core/workbench/model/weights/load_weights.h"
#include "core/workbench/train/checkpoint.h"
#include "core/workbench/train/checkpoint_folder.h"
#include "core/workbench/train/label_scale_file.h"
#include "core/workbench/train/parameter_groups.h"
#include "core/workbench/train/run_directory.h"
#include "core/workbench/train/session.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct TrainOptions {
    JobOptions job;
    RunBegin begin;
    bool trace_nonfinite = false;
    std::string fit_memory;
};

// Parameters and state as the checkpoint has them; `from` becomes what it says about the job that it is of,
// and what differs from that is given, as far as options allow it.
std::vector<train::FactChange> resume_from(const std::string& checkpoint, train::Session& session,
                                           train::Trainer& trainer, const train::RunFacts& facts,
                                           const TrainOptions& options, ResumedFrom& from) {
    auto loaded = session.load_checkpoint(checkpoint);
    if (!loaded.state) throw Failure(loaded.error);
    if (!loaded.state->other_policy.empty()) {
        std::cerr << (checkpoint + " was saved under precision " + loaded.state->other_policy +
                      ": parameters are converted from its float32 values\n");
    }
    from = {checkpoint, loaded.state->progression.step, loaded.state->facts};
    auto changes = changes_since(from, facts, options.begin.allowed_changes);
    if (std::ranges::any_of(changes, train::changes_groups)) trainer.accept_other_groups();
    try {
        trainer.restore(std::move(*loaded.state));
    } catch (const std::exception& error) {
        throw Failure(checkpoint + ": does not fit this job: " + error.what());
    }
    return changes;
}

void describe_data(const train::Session& session) {
    const auto& rows = session.data().train_rows;
    const auto& eval = session.data().eval_rows;
    std::ostringstream text;
    const auto& config = session.config();
    const auto tokenizer = data::tokenizer_line(data::find_tokenizer(config.data, config.train.weights));
    if (!tokenizer.empty())
        text << "tokenizer: " << tokenizer << " (" << session.tokenizer().size() << " tokens)\n";
    const auto size_of = [](const auto& samples) { return samples == nullptr ? 0 : samples->size(); };
    if (config.data.blocks == config::Blocks::none)
        text << "data: " << rows.used << " training samples, " << eval.used << " evaluation samples (";
    else
        text << "data: " << size_of(session.data().train) << " training samples of " << rows.used
             << " texts, " << size_of(session.data().eval) << " evaluation samples of " << eval.used
             << " texts (";
    text << rows.read + eval.read << " rows read, " << rows.skipped + eval.skipped << " skipped, "
         << rows.truncated + eval.truncated << " cut to " << session.config().batch.max_length << " tokens";
    if (rows.split + eval.split > 0) text << ", " << rows.split + eval.split << " split into several samples";
    text << ")\n";
    for (const auto& source : session.data().sources)
        text << "    " << source.name << ": " << source.drawn << " samples in an epoch, of " << source.samples
             << " that it has\n";
    if (const auto both = session.data().also_in_train; both > 0)
        text << "warning: data.eval: " << both << " of " << eval.used
             << " texts are also in data.train: evaluation on them measures memorization\n";
    for (const auto& note : session.initial_weights().notes) text << "warning: " << note << '\n';
    for (const auto& warning : session.data().warnings) text << "warning: " << warning << '\n';
    const auto& fresh = session.initial_weights().fresh;
    if (!fresh.empty())
        text << "not in " << session.initial_weights().file << ", newly initialised: " << joined(fresh)
             << '\n';
    std::cerr << text.str();
}

// An error text; empty: best.json says so.
std::string mark(const train::BestSoFar::Best& best, const train::RunDirectory& run,
                 const config::TrainConfig& config) {
    const auto error =
        train::mark_best(run.checkpoints(), {best.step, config.keep_best, best.value}, config.keep_last);
    return error.value_or("");
}

// The best evaluation up to the step that the run is resumed from, as long as its checkpoint is there.
void recall_best(const train::RunDirectory& run, const config::TrainConfig& config, std::int64_t step,
                 train::Trainer& trainer, bool writes) {
    const auto& metric = trainer.best().metric();
    if (metric.empty()) return;
    trainer.remember(train::evaluations_until(run.file("metrics.jsonl"), step, metric));
    const auto best = trainer.best().best();
    if (!best) return;
    if (!train::checkpoints_in(run.checkpoints()).contains(best->step)) {
        std::cerr << ("warning: " + run.checkpoints() + " has no checkpoint of step " +
                      std::to_string(best->step) + ", the best so far by " + config.keep_best +
                      ": the best is chosen among the evaluations from here on\n");
        return trainer.remember({});
    }
    if (!writes) return;
    if (const auto error = mark(*best, run, config); !error.empty()) throw Failure(error, Exit::run_failed);
}

// From what a run is gone on with, or back to.
train::LoadedCheckpoint newest_state(const train::RunDirectory& run, train::Session& session) {
    const auto newest = train::newest_checkpoint(run.checkpoints());
    if (!newest) return {std::nullopt, run.checkpoints() + " has no checkpoint"};
    return session.load_checkpoint(*newest);
}

// Of a rank that is not the first one: it computes, and writes nothing.
train::TrainingResult run_along(train::Session& session, train::Trainer& trainer,
                                const train::RunDirectory& run, const std::vector<data::TextPair>& answered,
                                const train::StopSignal& stop) {
    train::TrainerHooks hooks;
    if (trainer.saves_together())
        hooks.save = [&](auto& at, auto& own) { return trainer.save(run.checkpoints(), at, own); };
    hooks.reload = [&] { return newest_state(run, session); };
    hooks.stop = [&] { return static_cast<bool>(stop); };
    const auto nothing = [](std::int64_t, std::int64_t) {};
    if (!answered.empty())
        hooks.more_scores = [&, nothing] { return score_answers(session, answered, nothing, hooks.stop); };
    return trainer.run(hooks);
}

// The first rank tells what there is to tell.
int conclude_along(const train::TrainingResult& result, const train::StopSignal& stop) {
    if (result.outcome == train::Outcome::failed)
        throw Failure(result.error, result.numerics ? Exit::numerics : Exit::run_failed);
    if (stop) return stop.exit_code();
    return result.outcome == train::Outcome::stopped ? 128 + SIGTERM : Exit::fine;
}

train::TrainingResult run_training(train::Session& session, train::Trainer& trainer,
                                   const train::RunDirectory& run, const std::string& facts,
                                   const std::vector<data::TextPair>& answered,
                                   const train::Utilization& utilization, LogCommand& log,
                                   const train::StopSignal& stop) {
    TrainRecord record(run, trainer, session.config(), utilization, log);
    train::TrainerHooks hooks;
    CrowdingWatch crowding(at::get_num_threads(), ranks_on_this_machine());
    hooks.on_step = [&](const auto& report) {
        auto error = record.step(report);
        if (const auto warning = crowding.look(); !warning.empty()) record.say(warning);
        return error;
    };
    hooks.on_eval = [&](std::int64_t step, const auto& result) { return record.eval(step, result); };
    hooks.on_eval_progress = [&](std::int64_t done, std::int64_t total) {
        record.eval_progress(done, total);
    };
    hooks.save = [&](train::TrainingState at, const model::Parameters& parameters) {
        at.facts = facts;
        const auto unsynced = record.sync();
        const auto error = trainer.save(run.checkpoints(), at, parameters);
        return error.empty() ? unsynced : error;
    };
    hooks.on_best = [&](const train::BestSoFar::Best& best) {
        if (auto unsynced = record.sync(); !unsynced.empty()) return unsynced;
        return mark(best, run, session.config().train);
    };
    hooks.reload = [&] { return newest_state(run, session); };
    hooks.on_rewind = [&](const train::Rewind& rewind) { return record.rewound(rewind); };
    hooks.stop = [&] { return static_cast<bool>(stop); };
    if (!answered.empty())
        hooks.more_scores = [&] {
            return score_answers(session, answered, hooks.on_eval_progress, hooks.stop);
        };
    auto result = trainer.run(hooks);
    record.finish();
    if (const auto unsynced = record.sync();
        !unsynced.empty() && result.outcome == train::Outcome::finished) {
        result.outcome = train::Outcome::failed;
        result.error = unsynced;
    }
    return result;
}

int conclude(train::Session& session, train::TrainingResult result, const train::RunDirectory& run,
             const train::Trainer& trainer, const train::Utilization& utilization, Clock::time_point begun,
             LogCommand& log, train::StopSignal& stop) {
    const auto& config = session.config();
    if (result.outcome == train::Outcome::finished) {
        if (const auto error = export_model(session, run, result.eval, result.whole.get())) {
            result.outcome = train::Outcome::failed;
            result.error = *error;
        }
    }
    const std::chrono::duration<double> wall = Clock::now() - begun;
    const auto told =
        train_summary(session, result, training_memory(session, trainer), utilization, wall.count());
    const auto summary = json_text(told, 2);  // with the worst texts, whatever bytes they have
    if (result.outcome == train::Outcome::failed) {
        // On a full disk this fails as well, and says less than the first error.
        (void)base::write_file_atomically(run.file("summary.json"), summary);
        stop.end_at_once();
        std::cerr << log.end({{"summary", told}});
        throw Failure(result.error, result.numerics ? Exit::numerics : Exit::run_failed);
    }
    write_file(run.file("summary.json"), summary);
    stop.end_at_once();
    std::cerr << log.end({{"summary", told}});
    if (result.outcome == train::Outcome::stopped) {
        std::cerr << ("stopped after step " + std::to_string(result.progression.step) +
                      "; continue with --resume\n");
    }
    if (stop) return stop.exit_code();
    if (result.outcome == train::Outcome::stopped) return 128 + SIGTERM;  // another rank was
    if (result.stopped_early) {
        std::cerr << ("stopped early after step " + std::to_string(result.progression.step) + ": " +
                      config.train.keep_best + " did not get better in " +
                      counted(static_cast<std::size_t>(config.train.patience), "evaluation") +
                      " (train.patience); to go on, raise train.patience and resume\n");
    }
    std::cout << run.path() << ": " << result.progression.step << " steps, evaluation "
              << (result.eval.complete ? quality_text(result.eval) : "none") << std::endl;
    if (result.best)
        std::cout << "best: " << config.train.keep_best << " " << result.best->value << " at step "
                  << result.best->step << ", " << run.path() << "@best" << std::endl;
    if (result.communication) std::cout << communication_text(*result.communication) << std::endl;
    std::cout << shadow_text(all_shadow_lines(result)) << std::flush;
    std::cout.clear();  // whoever read it may have gone, as head does: the run is whole all the same
    return Exit::fine;
}

// Of a first checkpoint and of the model at the end. Ranks that divide the optimizer's state have about as
// much of it each; and of a part of the model as much as of its parameters.
train::SaveSizes save_sizes(train::Session& session, const train::Trainer& trainer) {
    const auto memory = training_memory(session, trainer);
    const auto own = session.parameters().bytes();
    const auto* const model = session.model_parts();
    const auto parameters = model != nullptr ? model->whole_bytes() : own;
    double parts = static_cast<double>(parameters) / static_cast<double>(own);
    if (trainer.is_sharded()) parts *= static_cast<double>(session.data_ranks());
    const auto state = parts * static_cast<double>(memory.optimizer + memory.masters);
    train::SaveSizes sizes{parameters, static_cast<std::int64_t>(state), parameters};
    if (session.config().train.ema > 0.0) sizes.push_back(parameters);
    return sizes;
}

// What stands beside metrics and checkpoints.
void write_job(const train::Session& session, const PlannedJob& planned, const OpenRun& open) {
    const auto& run = open.directory();
    std::error_code error;
    if (!open.resume() || !std::filesystem::exists(run.file("config.toml"), error)) {
        std::ostringstream shown;
        config::show(shown, planned.config, false);
        write_file(run.file("config.toml"), shown.str());
    }
    write_tokenizer(session.tokenizer(), run);
    if (const auto lines = skipped_rows_text(session.data()); !lines.empty())
        write_file(run.file("skipped.jsonl"), lines);
    if (const auto& scale = session.data().scale; !scale.mean.empty())
        write_file(run.label_scale(), train::label_scale_text(scale, data::label_names(session.config())));
    write_file(run.file("plan.json"), resolver::to_json(planned.plan).dump(2) + "\n");
}

// Before the model is made: the machine has its memory to itself.
train::Utilization utilization_of(const PlannedJob& planned) {
    auto config = planned.config;
    config.distributed.part =
        config.distributed.stage = {};  // of the whole model, which ranks compute together
    const auto trained = [&](const std::string& name) { return train::is_trained(config, name); };
    return {model::step_flops(config, trained),
            measure_matmul_peak(planned.plan, config.run.device,
                                measurement_cache(config, planned.host).folder())};
}

// The run's folder, which one rank alone writes.
std::unique_ptr<OpenRun> open_run(const TrainOptions& options, TrainRanks* ranks) {
    const bool writes = ranks == nullptr || ranks->is_first();
    auto open =
        writes ? std::make_unique<OpenRun>(options.begin)
               : std::make_unique<OpenRun>(options.begin.folder, ranks->from_first("resume", "") == "yes");
    if (ranks != nullptr && writes) ranks->from_first("resume", open->resume() ? "yes" : "no");
    return open;
}

// The checkpoint that a run goes on from; none: it begins.
std::optional<std::string> checkpoint_of(const OpenRun& open, TrainRanks* ranks) {
    auto newest = open.resume() ? train::newest_checkpoint(open.directory().checkpoints()) : std::nullopt;
    if (ranks == nullptr) return newest;
    const auto path = ranks->from_first("checkpoint", newest.value_or(""));
    return path.empty() ? std::nullopt : std::optional(path);
}

// With the size of a batch that is to be found.
JobOptions settled_job(const TrainOptions& options, const OpenRun& open, TrainRanks* ranks) {
    const auto recorded = open.resume() ? open.directory().file("config.toml") : "";
    if (ranks == nullptr) return with_fitting_batch(options.job, recorded, options.fit_memory);
    return options.job;  // which then says that a number is expected
}

void refuse_shadow(const config::Config& config, const TrainOptions& options, const TrainRanks* ranks) {
    const auto problem = config::shadow_problem(config, ranks == nullptr ? 1 : ranks->count());
    if (!problem.empty()) throw Failure(problem);
    if (!options.trace_nonfinite || !config::has_shadow(config)) return;
    throw Failure(
        "--trace-nonfinite: the calls of a shadow's candidate would be taken for those of training; expected "
        "no shadow (--set attention.shadow.backend=[] and the like)");
}

int train_job(const TrainOptions& options, TrainRanks* ranks) {
    const auto begun = Clock::now();
    const bool writes = ranks == nullptr || ranks->is_first();
    train::StopSignal stop;
    // The process goes on where nobody reads its output any more; where a file may not grow, the write says
    // so.
    for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
    base::drop_what_nobody_takes();
    if (ranks != nullptr && options.trace_nonfinite)
        throw Failure("--trace-nonfinite: several ranks are not traced; resume with one process to trace it");
    const auto opened = open_run(options, ranks);
    auto& open = *opened;
    const auto& run = open.directory();
    PlanOptions plan{.missing = Missing::measure};
    std::shared_ptr<const data::Tokenizer> tokenizer;
    data::Splits data;
    if (open.resume()) {
        plan = {.missing = Missing::leave, .recorded = run.file("plan.json")};
    } else {
        plan.before_timing = [&](const config::Config& config) {
            train::check_job(config);
            tokenizer = train::open_tokenizer(config);
            data = train::read_data(config, tokenizer);
        };
    }
    const auto planned = plan_for(settled_job(options, open, ranks), plan, ranks);
    refuse_shadow(planned->config, options, ranks);
    const auto said = config::canonical_values(planned->config);  // also where a kept tokenizer is read
    if (open.resume()) use_kept_tokenizer(planned->config, run);
    if (is_foreign(options.job, planned->files)) refuse_foreign_log_command(planned->config);
    if (const auto problem = config::log_command_problem(planned->config); !problem.empty())
        throw Failure(problem);
    auto utilization = writes ? utilization_of(*planned) : train::Utilization();
    if (ranks != nullptr && utilization.peak)
        utilization.peak->flops_per_second *= static_cast<double>(ranks->count());
    train::Session session(planned->config, planned->plan, *planned->registry, planned->host);
    if (ranks != nullptr) session.share_with(ranks->group());
    // Everything that can be wrong with the input comes before anything is written.
    const auto checkpoint = checkpoint_of(open, ranks);
    if (tokenizer != nullptr) {
        session.use_data(tokenizer, std::move(data));
    } else {
        session.load_tokenizer();
        session.load_data();
    }
    auto facts = train::facts_of(planned->config, session.tokenizer(), at::get_num_threads(), planned->host);
    facts.config = said;
    facts.ranks = session.ranks();
    const auto first = checkpoint ? facts : train::with_first_weights(facts, planned->config);
    if (ranks != nullptr)
        ranks->check_alike({{"", facts, train::plugins_of(planned->plan), session.plan_text()}});
    if (!checkpoint) session.load_initial_weights();
    std::string too_long;
    const auto answered = pairs_to_answer(session, too_long);
    if (ranks != nullptr) ranks->from_first("weights", "");  // which others may read more slowly
    auto trainer = session.make_trainer();
    ResumedFrom from{run.path(), 0, open.resume() ? recorded_facts(run) : ""};
    std::vector<train::FactChange> changes;
    if (checkpoint)
        changes = resume_from(*checkpoint, session, trainer, facts, options, from);
    else if (open.resume())
        changes = changes_since(from, first, options.begin.allowed_changes);
    else
        check_allowed_keys(options.begin.allowed_changes, facts);
    bool finished = checkpoint && options.begin.allowed_changes.empty() &&
                    is_finished(run, trainer.state().progression.step, trainer.total_steps());
    if (ranks != nullptr) finished = ranks->from_first("finished", finished ? "yes" : "no") == "yes";
    if (finished && writes) leave_finished(run, trainer.state().progression.step);
    if (finished) return Exit::fine;
    stop.note();
    if (writes) open.prepare(record_text(first), save_sizes(session, trainer));
    describe_data(session);
    std::cerr << too_long;
    if (writes) std::cerr << unverified_text(planned->plan);
    train::NonfiniteTrace trace;
    std::optional<train::Shadow> shadow;
    if (!planned->plan.shadows.empty()) {
        shadow.emplace(planned->plan, session.plan(), *planned->registry, planned->host,
                       planned->config.run.device);
        trainer.set_shadow(&*shadow);
    }
    if (options.trace_nonfinite) {
        trainer.set_trace(&trace);
        std::cerr
            << ("tracing: inputs, outputs and gradients of every operation are checked, which is slow\n");
    }
    if (open.resume()) {
        std::cerr << (checkpoint ? "resuming from " + *checkpoint + "\n"
                                 : run.path() + " has no checkpoint: starting from the beginning\n");
        if (writes) record_changes(run, from, changes);
        if (checkpoint) recall_best(run, session.config().train, from.step, trainer, writes);
    }
    if (ranks != nullptr) ranks->from_first("ready", "");  // what others read is read
    if (!writes) return conclude_along(run_along(session, trainer, run, answered, stop), stop);
    write_job(session, *planned, open);
    LogCommand log;
    std::cerr << log.begin(session.config(), run, trainer.state().progression.step);
    auto result =
        run_training(session, trainer, run, train::to_json(facts).dump(), answered, utilization, log, stop);
    return conclude(session, std::move(result), run, trainer, utilization, begun, log, stop);
}

// `--resume` alone, or `--resume auto`. A word behind it that is not auto may be the configuration.
void read_resume(const CLI::Option& given, TrainOptions& options) {
    if (given.count() == 0) return;
    options.begin.resume = true;
    const auto words = given.results();
    const auto word = words.empty() ? "" : words.front();
    options.begin.resume_if_begun = word == "auto";
    if (options.begin.resume_if_begun || word.empty() || word == "true" || word == "{}") return;
    if (!options.job.config.empty()) throw Failure("--resume: expected no value, or auto; got " + word);
    options.job.config = word;
}

}  // namespace

Action setup_train(CLI::App& command) {
    const auto options = std::make_shared<TrainOptions>();
    add_job_options(command, options->job);
    add_locked(command, options->job);
    command.add_option("--run", options->begin.folder, "folder for all files of the run")
        ->type_name("DIR")
        ->capture_default_str();
    command.get_option("CONFIG")->required(false);  // it may stand behind --resume
    const auto* resume =
        command
            .add_option("--resume",
                        "resume from the newest checkpoint in that folder; auto: or begin, if there is none")
            ->expected(0, 1)
            ->type_name("[auto]");
    command
        .add_option("--allow-change", options->begin.allowed_changes,
                    "resume although this key differs from the run's beginning; may be repeated")
        ->type_name("KEY")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    add_fit_memory(command, options->fit_memory, "batch.size = \"fit\": what a step may take");
    command.add_flag(
        "--trace-nonfinite", options->trace_nonfinite,
        "check every operation of every layer, forward and backward, and stop at the first NaN or Inf, "
        "naming the operation; with --resume from the newest checkpoint");
    return [options, resume] {
        read_resume(*resume, *options);
        if (options->job.config.empty())
            throw Failure("CONFIG is required" +
                          (options->begin.resume ? ": " + options->begin.folder +
                                                       "/config.toml is the job as that run was begun"
                                                 : std::string()) +
                          "\n`switchyard train -h` shows its options");
        return as_rank(options->job, [&](TrainRanks* ranks) { return train_job(*options, ranks); });
    };
}

}  // namespace switchyard::cli
