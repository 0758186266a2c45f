// switchyard predict RUN|FOLDER TEXT...
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include "core/kernel/config/metric_names.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/data/text_rows.h"
#include "core/workbench/cli/infer/model_folder.h"
#include "core/workbench/cli/infer/predictions.h"
#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/cli/json_lines.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/text_lines.h"
#include "core/workbench/cli/train/run_name.h"
#include "core/workbench/train/label_scale_file.h"
#include "core/workbench/train/run_directory.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

struct PredictOptions {
    std::string run;
    std::vector<std::string> texts;
    TextFiles files;
    JobOptions job;
    JsonOption json;
    JsonLinesOption lines;

    bool tables() const { return !json.on_stdout() && !lines.given(); }
};

train::GivenText given_pair(const std::string& text, std::size_t number, const std::string& run) {
    const auto tabs = std::count(text.begin(), text.end(), '\t');
    if (tabs != 1)
        throw Failure("text " + std::to_string(number) + ": error: " + run +
                      " was trained on pairs of texts; expected two with a tab between, as in " +
                      "$'first\\tsecond', got " + counted(static_cast<std::size_t>(tabs), "tab"));
    const auto tab = text.find('\t');
    return {text.substr(0, tab), text.substr(tab + 1)};
}

std::vector<train::GivenText> given_texts(const PredictOptions& options, bool pairs) {
    std::vector<train::GivenText> given;
    for (const auto& text : options.texts)
        given.push_back(pairs ? given_pair(text, given.size() + 1, options.run) : train::GivenText{text, ""});
    return given;
}

// All at once: what stands in a command line or was typed.
int predict_texts(const PredictOptions& options, const std::vector<train::GivenText>& given,
                  Predictions& predictions) {
    for (std::size_t i = 0; i < options.texts.size(); ++i) {
        const auto problem = predictions.problem(options.texts[i]);
        if (!problem.empty()) throw Failure(text_place(i) + ": error: " + problem);
    }
    auto titles = predictions.titles();
    if (!predictions.cells_hold_text()) titles.emplace_back("text");
    Table table(titles);
    JsonLines lines(options.lines);
    auto json = nlohmann::ordered_json::array();
    const auto all = predictions.of(given, text_place);
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto [cells, told] = all[i];
        if (!predictions.cells_hold_text()) cells.push_back(options.texts[i]);
        table.row(cells);
        nlohmann::ordered_json line{{"text", options.texts[i]}};
        line.update(told);
        lines.add(line);
        json.push_back(std::move(line));
    }
    predictions.warn();
    lines.finish();
    write_json(options.json, {{"predictions", json}});
    if (options.tables()) std::cout << table.render();
    return Exit::fine;
}

void print_row(const std::vector<Text>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) std::cout << (i > 0 ? "\t" : "") << cells[i].on_one_line();
    std::cout << '\n';
}

// Row by row, of files of any size.
int predict_rows(const PredictOptions& options, TextRows& rows, bool pairs, Predictions& predictions,
                 train::StopSignal& stop) {
    JsonLines lines(options.lines);
    if (options.lines.replaces_file()) stop.note();  // so that what is written aside is taken away
    auto json = nlohmann::ordered_json::array();
    auto titles = predictions.titles();
    if (!predictions.cells_hold_text()) titles.emplace_back("text");
    if (pairs) titles.emplace_back("text_pair");
    if (options.tables()) print_row({titles.begin(), titles.end()});
    const auto take = [&](const std::vector<TextRow>& batch) {
        std::vector<train::GivenText> given;
        for (const auto& row : batch) given.push_back(row.given);
        const auto all = predictions.of(
            given, [&](std::size_t text) { return batch[text].place(); },
            [&rows] { rows.leave_if_interrupted(); });
        for (std::size_t i = 0; i < all.size(); ++i) {
            nlohmann::ordered_json line{
                {"file", batch[i].file}, {"line", batch[i].line}, {"text", given[i].text}};
            if (pairs) line["text_pair"] = given[i].second;
            line.update(all[i].json);
            lines.add(line);
            if (!options.json.path.empty()) json.push_back(std::move(line));
            if (!options.tables()) continue;
            auto cells = all[i].cells;
            if (!predictions.cells_hold_text()) cells.push_back(given[i].text);
            if (pairs) cells.push_back(given[i].second);
            print_row(cells);
        }
        lines.flush();
        if (!std::cout.flush()) throw Failure("cannot write to the standard output", Exit::run_failed);
    };
    constexpr std::size_t model_batches = 32;  // enough of them to be made of texts of like length
    const auto most = model_batches * static_cast<std::size_t>(predictions.batch_size());
    rows.read(
        most, [&](const std::string& text) { return predictions.problem(text); }, take,
        [&] { return static_cast<bool>(stop); });
    if (stop) return rows.stopped(options.lines.path, stop.exit_code());
    predictions.warn();
    lines.finish();
    write_json(options.json, {{"predictions", json}});
    rows.require_all_used();
    return Exit::fine;
}

int predict(PredictOptions options) {
    train::StopSignal stop;
    const bool from_files = !options.files.names.empty();
    const auto run = find_run(options.run);
    std::cerr << run.note;
    auto job = job_of_run(run, options.job);
    job.implied.push_back({"predict", "batch.min_length=1"});  // whatever the run was trained on
    const auto planned = plan_job(job, {.purpose = Purpose::inference});
    const auto& config = planned->config;
    refuse_min_length(config);
    if (config.task.predicts_tokens()) {
        throw Failure(options.run + ": was trained for " + std::string(name(config.task.kind)) +
                      ", and predict gives classes or numbers; to generate text, use `switchyard generate`");
    }
    if (!from_files && options.texts.empty()) options.texts = text_lines();
    if (!from_files && options.texts.empty())
        throw Failure("nothing to classify: give texts as arguments, or lines on the standard input");
    const bool pairs = train::takes_pairs(config);
    const auto given = given_texts(options, pairs);
    const bool seen = options.tables() && ::isatty(STDOUT_FILENO) == 1;  // the rows show how far it is
    std::optional<TextRows> rows;
    if (from_files) rows.emplace(options.files, config, pairs, "predict", !seen);
    train::Session session(planned->config, planned->plan, *planned->registry, planned->host);
    session.load_tokenizer();
    session.load_initial_weights();
    tell_unused(session);
    if (!run.is_run) require_head(session);
    data::LabelScale scale;
    if (config.task.kind == config::TaskKind::regression && config.task.standardize) {
        scale = train::read_label_scale(train::RunDirectory(run.folder).label_scale(),
                                        config::label_names(config));
    }
    Predictions predictions(session, std::move(scale));
    return rows ? predict_rows(options, *rows, pairs, predictions, stop)
                : predict_texts(options, given, predictions);
}

}  // namespace

Action setup_predict(CLI::App& command) {
    const auto options = std::make_shared<PredictOptions>();
    command.add_option("RUN|FOLDER", options->run, named_run_help)->required()->type_name("");
    auto* const texts = command.add_option(
        "TEXT", options->texts,
        "texts; without any: the lines of the standard input. The two texts of a pair: with a tab between");
    texts->type_name("");
    add_text_files(command, options->files, true)->excludes(texts);
    add_overrides(command, options->job, "set one value of the configuration");
    add_json(command, options->json);
    add_json_lines(command, options->lines)->excludes("--json");
    return [options] { return predict(*options); };
}

}  // namespace switchyard::cli
