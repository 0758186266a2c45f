// switchyard embed RUN|FOLDER TEXT...
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/data/text_rows.h"
#include "core/workbench/cli/infer/embeddings_file.h"
#include "core/workbench/cli/infer/model_folder.h"
#include "core/workbench/cli/infer/nonfinite_logits.h"
#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/cli/json_lines.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/text_lines.h"
#include "core/workbench/cli/train/run_name.h"
#include "core/workbench/infer/embed.h"
#include "core/workbench/train/session.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

struct EmbedCommand {
    std::string run;
    std::vector<std::string> texts;
    TextFiles files;
    std::string pooling = "mean";
    infer::EmbedOptions embed;
    std::string out;  // .npy or .safetensors; empty: none
    JobOptions job;
    JsonOption json;
    JsonLinesOption lines;

    bool prints() const { return !json.on_stdout() && !lines.given() && out.empty() && json.path.empty(); }
};

// As many digits as make the same number again.
std::string number_text(float value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

class TextEmbeddings {
public:
    TextEmbeddings(const EmbedCommand& options, const train::Session& session)
        : options_(options), session_(session), lines_(options.lines) {}

    std::string problem(const std::string& text) const {
        return infer::text_problem(session_.tokenizer(), text);
    }

    // `rows`: where the texts stand; nullptr: nowhere. `before`: called before each batch.
    void add(const std::vector<std::string>& texts, const std::vector<TextRow>* rows,
             const std::function<void()>& before = {}) {
        const auto all = infer::embed(session_.config(), session_.plan(), session_.model(),
                                      session_.tokenizer(), texts, options_.embed, before);
        for (std::size_t i = 0; i < all.size(); ++i)
            require_finite(all[i].values, texts[i], rows != nullptr ? (*rows)[i].place() : text_place(i));
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto& [values, tokens, cut] = all[i];
            ++count_;
            cut_ += cut ? 1 : 0;
            if (options_.prints()) print(values);
            if (!options_.out.empty()) values_.insert(values_.end(), values.begin(), values.end());
            if (!options_.lines.given() && options_.json.path.empty()) continue;
            nlohmann::ordered_json line;
            if (rows != nullptr) line = {{"file", (*rows)[i].file}, {"line", (*rows)[i].line}};
            line.update(
                nlohmann::ordered_json{{"text", texts[i]}, {"tokens", tokens}, {"embedding", values}});
            lines_.add(line);
            if (!options_.json.path.empty()) json_.push_back(std::move(line));
        }
        lines_.flush();
        if (!std::cout.flush()) throw Failure("cannot write to the standard output", Exit::run_failed);
    }

    void finish() {
        if (cut_ > 0)
            std::cerr << "warning: " + std::to_string(cut_) + " of " + counted(count_, "text") +
                             " longer than " + std::to_string(session_.config().batch.max_length) +
                             " tokens: the words beyond are not in the embedding\n";
        lines_.finish();
        const auto width = session_.config().model.hidden_size;
        if (!options_.out.empty())
            write_embeddings(options_.out, values_, static_cast<std::int64_t>(count_), width);
        write_json(options_.json, {{"pool", options_.pooling},
                                   {"normalized", options_.embed.normalize},
                                   {"dimensions", width},
                                   {"embeddings", json_}});
        if (!options_.out.empty())
            std::cerr << options_.out + ": " + counted(count_, "text") + ", " + std::to_string(width) +
                             " numbers each\n";
    }

private:
    void require_finite(const std::vector<float>& values, const std::string& text,
                        const std::string& place) const {
        const auto bad = std::ranges::find_if_not(values, [](float value) { return std::isfinite(value); });
        if (bad == values.end()) return;
        throw nonfinite_failure(place + ": error: number " + std::to_string(bad - values.begin() + 1) +
                                    " of its embedding is " + nonfinite_name(*bad) +
                                    ": the text cannot be embedded",
                                [&] {
                                    infer::embed(session_.config(), session_.plan(), session_.model(),
                                                 session_.tokenizer(), {text}, options_.embed);
                                });
    }

    static void print(const std::vector<float>& values) {
        std::string line;
        for (const auto value : values) line.append(line.empty() ? "" : "\t").append(number_text(value));
        std::cout << line << '\n';
    }

    const EmbedCommand& options_;
    const train::Session& session_;
    JsonLines lines_;
    std::vector<float> values_;
    nlohmann::ordered_json json_ = nlohmann::ordered_json::array();
    std::size_t count_ = 0, cut_ = 0;
};

int embed_texts(const EmbedCommand& options, TextEmbeddings& embeddings) {
    for (std::size_t i = 0; i < options.texts.size(); ++i) {
        const auto problem = embeddings.problem(options.texts[i]);
        if (!problem.empty()) throw Failure(text_place(i) + ": error: " + problem);
    }
    embeddings.add(options.texts, nullptr);
    embeddings.finish();
    return Exit::fine;
}

int embed_rows(const EmbedCommand& options, TextRows& rows, std::int64_t batch, TextEmbeddings& embeddings,
               train::StopSignal& stop) {
    const bool replaces = options.lines.replaces_file() || !options.out.empty();
    if (replaces) stop.note();  // so that what is written aside is taken away
    const auto take = [&](const std::vector<TextRow>& some) {
        std::vector<std::string> texts;
        for (const auto& row : some) texts.push_back(row.given.text);
        embeddings.add(texts, &some, [&rows] { rows.leave_if_interrupted(); });
    };
    constexpr std::size_t model_batches = 32;  // enough of them to be made of texts of like length
    rows.read(
        model_batches * static_cast<std::size_t>(batch),
        [&](const std::string& text) { return embeddings.problem(text); }, take,
        [&] { return static_cast<bool>(stop); });
    if (stop) return rows.stopped(options.out.empty() ? options.lines.path : options.out, stop.exit_code());
    embeddings.finish();
    rows.require_all_used();
    return Exit::fine;
}

int embed(EmbedCommand options) {
    train::StopSignal stop;
    if (!options.out.empty()) embeddings_format(options.out);
    options.embed.pooling = options.pooling == "first" ? infer::Pooling::first : infer::Pooling::mean;
    const bool from_files = !options.files.names.empty();
    const auto run = find_run(options.run);
    std::cerr << run.note;
    auto job = run.is_run ? job_of_run(run, options.job) : job_of_encoder(run.folder, options.job);
    job.implied.push_back({"embed", "batch.min_length=1"});  // whatever the run was trained on
    const auto planned = plan_job(job, {.purpose = Purpose::inference});
    const auto& config = planned->config;
    refuse_min_length(config);
    if (const auto problem = infer::embed_problem(config); !problem.empty()) throw Failure(problem);
    if (!from_files && options.texts.empty()) options.texts = text_lines();
    if (!from_files && options.texts.empty())
        throw Failure("nothing to embed: give texts as arguments, or lines on the standard input");
    const bool seen = options.prints() && ::isatty(STDOUT_FILENO) == 1;  // the rows show how far it is
    std::optional<TextRows> rows;
    if (from_files) rows.emplace(options.files, config, false, "embed", !seen);
    train::Session session(config, planned->plan, *planned->registry, planned->host);
    session.load_tokenizer();
    session.load_initial_weights();
    tell_unused(session);
    TextEmbeddings embeddings(options, session);
    return rows ? embed_rows(options, *rows, session.config().batch.size, embeddings, stop)
                : embed_texts(options, embeddings);
}

}  // namespace

Action setup_embed(CLI::App& command) {
    const auto options = std::make_shared<EmbedCommand>();
    command.add_option("RUN|FOLDER", options->run, named_run_help)->required()->type_name("");
    auto* const texts =
        command.add_option("TEXT", options->texts, "texts; without any: the lines of the standard input");
    texts->type_name("");
    add_text_files(command, options->files, false)->excludes(texts);
    command
        .add_option("--pool", options->pooling,
                    "mean: of all tokens, those around the text too; first: the first token, [CLS]")
        ->check(CLI::IsMember(
            std::vector<std::string>(names<infer::Pooling>.begin(), names<infer::Pooling>.end())))
        ->type_name("HOW")
        ->capture_default_str();
    command.add_flag("--normalize", options->embed.normalize, "scale each embedding to length 1");
    command.add_option("--out", options->out, "file for all embeddings as one table: .npy or .safetensors")
        ->check(output_file())
        ->type_name("FILE");
    add_overrides(command, options->job, "set one value of the configuration");
    add_json(command, options->json);
    add_json_lines(command, options->lines)->excludes("--json");
    return [options] { return embed(*options); };
}

}  // namespace switchyard::cli
