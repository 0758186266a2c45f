// switchyard predict RUN TEXT...
#include <algorithm>
#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/next_line.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/planned_job.h"
#include "core/workbench/train/predict.h"

namespace switchyard::cli {
namespace {

struct PredictOptions {
    std::string run;
    std::vector<std::string> texts;
    JobOptions job;
    JsonOption json;
};

std::vector<std::string> lines_of_stdin() {
    std::vector<std::string> lines;
    std::string line;
    for (base::Line read; (read = base::next_line(*std::cin.rdbuf(), line)) != base::Line::none;) {
        if (read == base::Line::too_long)
            throw Failure("standard input:" + std::to_string(lines.size() + 1) +
                          ": error: the line is longer than " + std::to_string(base::limits::line_bytes) +
                          " bytes");
        lines.push_back(line);
    }
    return lines;
}

// What the model would not see as it was given.
void check_texts(const std::vector<std::string>& texts, config::TokenizerKind tokenizer) {
    std::size_t empty = 0, with_nul = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto at = data::find_invalid_utf8(texts[i]);
        if (tokenizer != config::TokenizerKind::bytes && at != std::string::npos)
            throw Failure("text " + std::to_string(i + 1) + ": error: is no valid UTF-8 at byte " +
                          std::to_string(at + 1));
        empty += texts[i].find_first_not_of(" \t\r\n") == std::string::npos ? 1 : 0;
        with_nul += texts[i].find('\0') != std::string::npos ? 1 : 0;
    }
    const auto warn = [&](std::size_t count, const char* what) {
        if (count > 0)
            std::cerr << "warning: " << count << " of " << counted(texts.size(), "text") << what << '\n';
    };
    warn(empty, " without any word: what is told of them is the same for all");
    warn(with_nul, " with NUL bytes");
}

std::string percent(double share) {
    char text[16];
    std::snprintf(text, sizeof text, "%.1f %%", 100.0 * share);
    return text;
}

int predict(PredictOptions options) {
    if (options.texts.empty()) options.texts = lines_of_stdin();
    if (options.texts.empty())
        throw Failure("nothing to classify: give texts as arguments, or lines on the standard input");
    const auto planned = plan_job(job_of_run(options.run, options.job));
    if (const auto kind = planned->config.task.kind; kind != config::TaskKind::classification) {
        throw Failure(
            options.run + ": is trained for " + std::string(name(kind)) +
            ", and predict tells classes of texts" +
            (planned->config.task.predicts_words() ? "; to let it write, use `switchyard generate`" : ""));
    }
    if (const auto& column = planned->config.data.pair_column; !column.empty()) {
        throw Failure(options.run + ": is trained on pairs of texts (data.pair_column = \"" +
                      base::quoted(column) + "\"), and predict takes single texts");
    }
    train::Session session(planned->config, planned->plan, *planned->registry, planned->host);
    check_texts(options.texts, planned->config.data.tokenizer);
    session.load_tokenizer();
    session.load_initial_weights();
    const auto rows = train::predict(session, options.texts);

    const auto& labels = planned->config.task.labels;
    auto json = nlohmann::ordered_json::array();
    Table table({"label", "probability", "text"});
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto best =
            static_cast<std::size_t>(std::max_element(rows[i].begin(), rows[i].end()) - rows[i].begin());
        table.row({labels.at(best), percent(rows[i][best]), options.texts[i]});
        nlohmann::ordered_json line{{"text", options.texts[i]}, {"label", labels.at(best)}};
        for (std::size_t c = 0; c < labels.size(); ++c) line["probabilities"][labels[c]] = rows[i][c];
        json.push_back(line);
    }
    write_json(options.json, {{"predictions", json}});
    if (!options.json.on_stdout()) std::cout << table.render();
    return Exit::fine;
}

}  // namespace

Action setup_predict(CLI::App& command) {
    const auto options = std::make_shared<PredictOptions>();
    command.add_option("RUN", options->run, "folder of a finished run")->required()->type_name("");
    command.add_option("TEXT", options->texts, "texts; none: the lines of the standard input")->type_name("");
    add_overrides(command, options->job, "set one value of the run's configuration");
    add_json(command, options->json);
    return [options] { return predict(*options); };
}

}  // namespace switchyard::cli
