// switchyard predict RUN TEXT...
#include <algorithm>
#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/planned_job.h"
#include "core/workbench/cli/run_name.h"
#include "core/workbench/cli/text_lines.h"
#include "core/workbench/data/label_columns.h"
#include "core/workbench/train/label_scale_file.h"
#include "core/workbench/train/predict.h"
#include "core/workbench/train/run_directory.h"

namespace switchyard::cli {
namespace {

struct PredictOptions {
    std::string run;
    std::vector<std::string> texts;
    JobOptions job;
    JsonOption json;
};

// What the model would not see as it was given.
void check_texts(const std::vector<std::string>& texts, config::TokenizerKind tokenizer) {
    std::size_t empty = 0, with_nul = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (tokenizer != config::TokenizerKind::bytes) {
            const auto problem = data::utf8_problem(texts[i]);
            if (!problem.empty()) throw Failure("text " + std::to_string(i + 1) + ": error: " + problem);
        }
        empty += texts[i].find_first_not_of(" \t\r\n") == std::string::npos ? 1 : 0;
        with_nul += texts[i].find('\0') != std::string::npos ? 1 : 0;
    }
    const auto warn = [&](std::size_t count, const char* what) {
        if (count > 0)
            std::cerr << "warning: " << count << " of " << counted(texts.size(), "text") << what << '\n';
    };
    warn(empty, " without any word: they all get the same prediction");
    warn(with_nul, " with NUL bytes");
}

void check_pairs(const PredictOptions& options) {
    for (std::size_t i = 0; i < options.texts.size(); ++i) {
        const auto tabs = std::count(options.texts[i].begin(), options.texts[i].end(), '\t');
        if (tabs == 1) continue;
        throw Failure("text " + std::to_string(i + 1) + ": error: " + options.run +
                      " was trained on pairs of texts; expected two with a tab between, as in " +
                      "$'first\\tsecond', got " + counted(static_cast<std::size_t>(tabs), "tab"));
    }
}

std::string percent(double share) {
    char text[16];
    std::snprintf(text, sizeof text, "%.1f %%", 100.0 * share);
    return text;
}

using Rows = std::vector<std::vector<double>>;

void tell_classes(const config::Config& config, const PredictOptions& options, const Rows& rows, Table& table,
                  nlohmann::ordered_json& json) {
    const auto labels = data::label_names(config);
    table = Table({"label", "probability", "text"});
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto best =
            static_cast<std::size_t>(std::max_element(rows[i].begin(), rows[i].end()) - rows[i].begin());
        table.row({labels.at(best), percent(rows[i][best]), options.texts[i]});
        nlohmann::ordered_json line{{"text", options.texts[i]}, {"label", labels.at(best)}};
        for (std::size_t c = 0; c < labels.size(); ++c) line["probabilities"][labels[c]] = rows[i][c];
        json.push_back(line);
    }
}

// The labels that are more likely than not.
void tell_labels(const config::Config& config, const PredictOptions& options, const Rows& rows, Table& table,
                 nlohmann::ordered_json& json) {
    const auto& labels = config.task.labels;
    table = Table({"labels", "text"});
    for (std::size_t i = 0; i < rows.size(); ++i) {
        nlohmann::ordered_json line{{"text", options.texts[i]}, {"labels", nlohmann::ordered_json::array()}};
        std::string told;
        for (std::size_t c = 0; c < labels.size(); ++c) {
            line["probabilities"][labels[c]] = rows[i][c];
            if (rows[i][c] <= 0.5) continue;
            line["labels"].push_back(labels[c]);
            base::add_item(told, labels[c] + " (" + percent(rows[i][c]) + ")");
        }
        table.row({told.empty() ? "none" : told, options.texts[i]});
        json.push_back(line);
    }
}

void tell_numbers(const config::Config& config, const PredictOptions& options, const Rows& rows, Table& table,
                  nlohmann::ordered_json& json) {
    auto names = data::label_names(config);
    auto head = names;
    head.push_back("text");
    table = Table(head);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        nlohmann::ordered_json line{{"text", options.texts[i]}};
        std::vector<base::Text> cells;
        for (std::size_t c = 0; c < names.size(); ++c) {
            line["values"][names[c]] = rows[i][c];
            char text[32];
            std::snprintf(text, sizeof text, "%.5g", rows[i][c]);
            cells.emplace_back(std::string(text));
        }
        cells.push_back(options.texts[i]);
        table.row(cells);
        json.push_back(line);
    }
}

// Each word with its label; where one label is O, which means none, words that have it stand alone.
void tell_words(const config::Config& config, const PredictOptions& options,
                const std::vector<std::vector<train::LabelledWord>>& texts) {
    const auto& labels = config.task.labels;
    auto json = nlohmann::ordered_json::array();
    Table table({"text with labels"});
    std::size_t cut = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        nlohmann::ordered_json line{{"text", options.texts[i]}, {"words", nlohmann::ordered_json::array()}};
        std::string shown;
        bool whole = true;
        for (const auto& [word, probabilities] : texts[i]) {
            nlohmann::ordered_json entry{{"word", word}, {"label", nullptr}};
            std::string mark;
            if (probabilities.empty()) whole = false;
            if (!probabilities.empty()) {
                const auto best = std::max_element(probabilities.begin(), probabilities.end());
                const auto& label = labels.at(static_cast<std::size_t>(best - probabilities.begin()));
                entry["label"] = label;
                for (std::size_t c = 0; c < labels.size(); ++c)
                    entry["probabilities"][labels[c]] = probabilities[c];
                if (label != "O") mark = "/" + label;
            }
            line["words"].push_back(entry);
            base::add_item(shown, word + mark, " ");
        }
        cut += whole ? 0 : 1;
        table.row({shown});
        json.push_back(line);
    }
    if (cut > 0)
        std::cerr << "warning: " << cut << " of " << counted(texts.size(), "text") << " longer than "
                  << config.batch.max_length << " tokens: the words beyond have no label\n";
    write_json(options.json, {{"predictions", json}});
    if (!options.json.on_stdout()) std::cout << table.render();
}

void tell(const config::Config& config, const PredictOptions& options, const Rows& rows) {
    auto json = nlohmann::ordered_json::array();
    Table table({});
    const auto kind = config.task.kind;
    (kind == config::TaskKind::regression    ? tell_numbers
     : kind == config::TaskKind::multi_label ? tell_labels
                                             : tell_classes)(config, options, rows, table, json);
    write_json(options.json, {{"predictions", json}});
    if (!options.json.on_stdout()) std::cout << table.render();
}

int predict(PredictOptions options) {
    if (options.texts.empty()) options.texts = text_lines("-");
    if (options.texts.empty())
        throw Failure("nothing to classify: give texts as arguments, or lines on the standard input");
    const auto run = find_run(options.run);
    std::cerr << run.note;
    const auto planned = plan_job(job_of_run(run, options.job));
    const auto& config = planned->config;
    if (config.task.predicts_tokens()) {
        throw Failure(options.run + ": was trained for " + std::string(name(config.task.kind)) +
                      ", and predict gives classes or numbers; to generate text, use `switchyard generate`");
    }
    if (train::takes_pairs(config)) check_pairs(options);
    train::Session session(planned->config, planned->plan, *planned->registry, planned->host);
    check_texts(options.texts, planned->config.data.tokenizer);
    session.load_tokenizer();
    session.load_initial_weights();
    if (config.task.kind == config::TaskKind::token_classification) {
        tell_words(config, options, train::predict_words(session, options.texts));
        return Exit::fine;
    }
    data::LabelScale scale;
    if (config.task.kind == config::TaskKind::regression && config.task.standardize) {
        scale =
            train::read_label_scale(train::RunDirectory(run.folder).label_scale(), data::label_names(config));
    }
    const auto rows = train::predict(session, options.texts, scale);
    tell(config, options, rows);
    return Exit::fine;
}

}  // namespace

Action setup_predict(CLI::App& command) {
    const auto options = std::make_shared<PredictOptions>();
    command
        .add_option("RUN", options->run,
                    "folder of a run, or a checkpoint of it: RUN@best, RUN@last, RUN@step-200")
        ->required()
        ->type_name("");
    command
        .add_option(
            "TEXT", options->texts,
            "texts; without any: the lines of the standard input. The two texts of a pair: with a tab "
            "between")
        ->type_name("");
    add_overrides(command, options->job, "set one value of the run's configuration");
    add_json(command, options->json);
    return [options] { return predict(*options); };
}

}  // namespace switchyard::cli
