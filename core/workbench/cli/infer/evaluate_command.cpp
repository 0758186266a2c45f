// switchyard evaluate RUN|FOLDER FILE...
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/config/metric_names.h"
#include "core/workbench/cli/answers.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/data/guessed_columns.h"
#include "core/workbench/cli/infer/evaluation_json.h"
#include "core/workbench/cli/infer/generation_plan.h"
#include "core/workbench/cli/infer/model_folder.h"
#include "core/workbench/cli/infer/nonfinite_logits.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/cli/train/run_name.h"
#include "core/workbench/train/label_scale_file.h"
#include "core/workbench/train/run_directory.h"
#include "core/workbench/train/session.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

constexpr std::size_t shown_classes = 10;
constexpr std::size_t shown_worst = 5;

struct EvaluateOptions {
    std::string run;
    train::EvalFiles data;
    bool bleu = false;
    JobOptions job;
    JsonOption json;
};

// Every text can be answered, or nothing is begun.
std::vector<data::TextPair> answered_texts(const train::Session& session, const train::EvalFiles& files) {
    auto pairs = train::read_eval_pairs(session.config(), session.tokenizer(), files);
    if (const auto problem = answers_problem(session, pairs); !problem.empty())
        throw Failure("--bleu: error: " + problem);
    return pairs;
}

void show_confusion(const score::ConfusionMatrix& confusion) {
    const auto& labels = confusion.labels();
    if (labels.size() > shown_classes) return;
    std::vector<std::string> titles{"is \\ predicted"};
    titles.insert(titles.end(), labels.begin(), labels.end());
    Table table(titles);
    for (std::size_t right = 0; right < labels.size(); ++right) {
        std::vector<Text> cells{labels[right]};
        for (std::size_t told = 0; told < labels.size(); ++told)
            cells.emplace_back(std::to_string(confusion.count(right, told)));
        table.row(cells);
    }
    std::cout << '\n' << table.render();
}

void show_worst(const nlohmann::ordered_json& evaluation) {
    const auto worst = evaluation.find("worst");
    if (worst == evaluation.end()) return;
    Table table({"label", "predicted", "loss", "text"});
    for (std::size_t i = 0; i < std::min(shown_worst, worst->size()); ++i) {
        const auto& one = (*worst)[i];
        table.row({one["label"].get<std::string>(), one["predicted"].get<std::string>(),
                   base::digits(one["loss"].get<double>()), one["text"].get<std::string>()});
    }
    std::cout << "\nlargest loss:\n" << table.render();
}

void show(const train::EvalResult& result, const nlohmann::ordered_json& evaluation,
          const data::RowCounts& rows) {
    std::cout << base::counted(static_cast<std::size_t>(result.samples), "sample") << " (" << rows.read
              << " rows read, " << rows.skipped << " skipped, " << rows.truncated << " cut)\n";
    Table table({"score", "value"});
    const auto add = [&](const std::string& name, double value) {
        table.row({name, base::digits(value, 5)});
    };
    for (const auto* const name : {"accuracy", "perplexity", "bleu", "chrf"})
        if (evaluation.contains(name)) add(name, evaluation[name].get<double>());
    for (const auto& [name, value] : result.metrics) add(name, value);
    add("loss", result.loss);
    std::cout << table.render();
    if (result.confusion) show_confusion(*result.confusion);
    show_worst(evaluation);
}

int evaluate(const EvaluateOptions& options) {
    train::StopSignal stop;
    const auto run = find_run(options.run);
    std::cerr << run.note;
    auto job = job_of_run(run, options.job);
    GuessedColumns columns;
    if (!run.is_run) {
        columns =
            guess_columns(options.data.files, task_of_folder(run.folder), !options.data.targets.empty());
        imply(columns, job);
    }
    const auto planned = plan_generation(job, options.bleu);
    const auto& config = planned->config;
    std::cerr << told(columns, config.data);
    if (options.bleu && config.task.kind != config::TaskKind::seq2seq)
        throw Failure("--bleu: error: " + options.run + " was trained for " +
                      std::string(name(config.task.kind)) + "; only a model of seq2seq answers with texts");
    data::LabelScale scale;
    if (config.task.kind == config::TaskKind::regression && config.task.standardize)
        scale = train::read_label_scale(train::RunDirectory(run.folder).label_scale(),
                                        config::label_names(config));
    train::Session session(config, planned->plan, *planned->registry, planned->host);
    session.load_tokenizer();
    session.load_eval_files(options.data, scale);
    const auto pairs = options.bleu ? answered_texts(session, options.data) : std::vector<data::TextPair>();
    session.load_initial_weights();
    tell_unused(session);
    if (!run.is_run) require_head(session);
    auto progress = Progress::for_stderr();
    train::EvalHooks hooks;
    hooks.scale = scale;
    hooks.progress = [&](std::int64_t done, std::int64_t total) {
        progress.show({"evaluate", done, total, 0.0, -1.0, 0.0});
    };
    const auto& loader = session.start_eval_loader(session.data().eval);
    const auto result = train::evaluate(session.config(), session.plan(), session.model(), loader, hooks);
    auto json = evaluation_json(result, *session.data().eval, session.tokenizer());
    if (options.bleu) {
        const auto scores = score_answers(session, pairs,
                                          [&](std::int64_t done, std::int64_t total) {
                                              progress.show({"answer", done, total, 0.0, -1.0, 0.0});
                                          },
                                          {});
        for (const auto& [name, value] : *scores) json[name] = value;
    }
    progress.finish();
    for (const auto& warning : session.data().warnings) std::cerr << ("warning: " + warning + "\n");
    json["samples"] = result.samples;
    json["rows"] = rows_json(session.data().eval_rows);
    json["run"] = options.run;
    json["files"] = options.data.files;
    write_json(options.json, json);
    if (!options.json.on_stdout()) show(result, json, session.data().eval_rows);
    if (result.labels > 0 && !std::isfinite(result.loss))
        throw Failure("the loss of " + options.run +
                          " on these files is NaN or Inf, so that it has no other score" + nonfinite_advice,
                      Exit::numerics);
    return Exit::fine;
}

}  // namespace

Action setup_evaluate(CLI::App& command) {
    const auto options = std::make_shared<EvaluateOptions>();
    command.add_option("RUN|FOLDER", options->run, named_run_help)->required()->type_name("");
    command
        .add_option("FILE", options->data.files,
                    "files of the form that the model was trained on, with labels or answers")
        ->required()
        ->type_name("");
    command
        .add_option(
            "--targets", options->data.targets,
            "seq2seq: files with an answer for each line of FILE, unless they stand in a column of it")
        ->type_name("FILE");
    command.add_flag("--bleu", options->bleu,
                     "seq2seq: generate an answer to each text, and tell BLEU and chrF as sacreBLEU does");
    add_overrides(command, options->job, "set one value of the configuration");
    add_json(command, options->json);
    return [options] { return evaluate(*options); };
}

}  // namespace switchyard::cli
