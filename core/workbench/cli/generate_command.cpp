// switchyard generate RUN|FOLDER|CONFIG
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include "core/kernel/base/printable.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/json_lines.h"
#include "core/workbench/cli/model_folder.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/planned_job.h"
#include "core/workbench/cli/run_name.h"
#include "core/workbench/cli/text_rows.h"
#include "core/workbench/data/tokenizers/smiles_text.h"
#include "core/workbench/infer/generate.h"
#include "core/workbench/train/session.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

struct WriteOptions {
    std::string run_or_config;
    std::string weights;
    std::string prompt;
    std::string prompts;  // a file of lines; empty: there are `files`, or `prompt` alone
    TextFiles files;
    JobOptions job;
    infer::GenerateOptions generate;
    bool check_smiles = false;
    JsonOption json;
    JsonLinesOption lines;

    bool prints_texts() const { return !json.on_stdout() && !lines.given(); }
};

JobOptions job_of(const WriteOptions& options) {
    JobOptions job = options.job;
    job.config = options.run_or_config;
    if (names_run(options.run_or_config)) {
        const auto run = find_run(options.run_or_config);
        std::cerr << run.note;
        job = job_of_run(run, job);
    }
    if (!options.weights.empty())
        job.implied.push_back(
            {"--weights", "train.weights=" + base::printable(nlohmann::json(options.weights).dump())});
    return job;
}

// What a person reads of the samples' brackets, last.
std::string share_text(std::int64_t good, std::int64_t all) {
    char text[96];
    std::snprintf(text, sizeof text, "well bracketed: %lld of %lld (%.1f %%)", static_cast<long long>(good),
                  static_cast<long long>(all), 100.0 * static_cast<double>(good) / static_cast<double>(all));
    return text;
}

// What makes texts out of each prompt.
class Writer {
public:
    Writer(const WriteOptions& options, const train::Session& session)
        : options_(options), session_(session), lines_(options.lines) {}

    // `row`: where the prompt stands; nullptr: nowhere.
    void write(const std::string& prompt, const TextRow* row) {
        const auto& config = session_.config();
        const auto& tokenizer = session_.tokenizer();
        const bool goes_on = config.task.kind == config::TaskKind::causal_lm;
        for (const auto& sample : infer::generate(config, session_.plan(), session_.model(), tokenizer,
                                                  prompt, options_.generate)) {
            const auto text =
                goes_on ? infer::continued(tokenizer, prompt, sample.ids) : tokenizer.decode(sample.ids);
            nlohmann::ordered_json line;
            if (row != nullptr) line = {{"file", row->file}, {"line", row->line}};
            line.update({{"text", text}, {"tokens", sample.ids.size()}, {"ended", sample.ended}});
            if (row != nullptr) line["prompt"] = prompt;
            if (options_.check_smiles) add_fault(line, text, sample.ended);
            ++count_;
            lines_.add(line);
            if (!options_.json.path.empty()) samples_.push_back(std::move(line));
            if (options_.prints_texts()) base::print_data(text + '\n');
        }
        lines_.flush();
    }

    void finish() {
        nlohmann::ordered_json all{{"samples", samples_}};
        if (options_.check_smiles && count_ > 0) {
            all["well_bracketed_share"] = static_cast<double>(good_) / static_cast<double>(count_);
            if (!options_.json.on_stdout())
                (options_.prints_texts() ? std::cout : std::cerr) << share_text(good_, count_) << '\n';
        }
        lines_.finish();
        write_json(options_.json, all);
    }

private:
    // A molecule that the limit cut off is none.
    void add_fault(nlohmann::ordered_json& line, const std::string& text, bool ended) {
        const auto fault = !ended ? "is not ended" : text.empty() ? "is empty" : data::bracket_fault(text);
        good_ += fault.empty() ? 1 : 0;
        line["well_bracketed"] = fault.empty();
        if (!fault.empty()) line["fault"] = fault;
    }

    const WriteOptions& options_;
    const train::Session& session_;
    JsonLines lines_;
    nlohmann::ordered_json samples_ = nlohmann::ordered_json::array();
    std::int64_t count_ = 0, good_ = 0;
};

int write_one(const WriteOptions& options, const train::Session& session) {
    const auto problem = infer::prompt_problem(session.config(), session.tokenizer(), options.prompt);
    if (!problem.empty()) throw Failure(problem);
    Writer writer(options, session);
    writer.write(options.prompt, nullptr);
    writer.finish();
    return Exit::fine;
}

// After each row of files of any size.
int write_rows(const WriteOptions& options, const train::Session& session, TextRows& rows,
               train::StopSignal& stop) {
    Writer writer(options, session);
    if (options.lines.replaces_file()) stop.note();  // so that what is written aside is taken away
    const auto problem = [&](const std::string& prompt) {
        return infer::prompt_problem(session.config(), session.tokenizer(), prompt);
    };
    rows.read(1, problem, [&](const std::vector<TextRow>& batch) {
        for (const auto& row : batch) writer.write(row.given.text, &row);
        return !stop;
    });
    if (stop) return rows.stopped(options.lines.path, stop.exit_code());
    writer.finish();
    rows.require_all_used();
    return Exit::fine;
}

int write(WriteOptions options) {
    train::StopSignal stop;
    if (!options.prompts.empty()) options.files = {{options.prompts}, "text", "", ""};
    const auto planned = plan_job(job_of(options));
    const auto& config = planned->config;
    if (config.train.weights.empty())
        throw Failure(options.run_or_config +
                      ": names no weights, and an untrained model generates only noise; give the folder of "
                      "a run, or weights with --weights");
    const bool seen = options.prints_texts() && ::isatty(STDOUT_FILENO) == 1;  // texts show how far it is
    std::optional<TextRows> rows;
    if (!options.files.names.empty()) rows.emplace(options.files, config, false, "generate", !seen);
    train::Session session(config, planned->plan, *planned->registry, planned->host);
    session.load_tokenizer();
    session.load_initial_weights();
    if (is_model_folder(options.run_or_config)) require_head(session);
    if (const auto problem = infer::model_problem(config, session.tokenizer()); !problem.empty())
        throw Failure(problem);
    return rows ? write_rows(options, session, *rows, stop) : write_one(options, session);
}

void add_sampling(CLI::App& command, infer::GenerateOptions& options) {
    command.add_option("--samples", options.samples, "number of samples to generate")
        ->check(whole_number(1, 1000000))
        ->type_name("N")
        ->capture_default_str();
    command
        .add_option("--max-tokens", options.max_tokens,
                    "largest number of new tokens in a sample; 0: up to batch.max_length")
        ->check(whole_number(0))
        ->type_name("N")
        ->capture_default_str();
    command
        .add_option("--temperature", options.sampling.temperature,
                    "below 1: prefer likely tokens more; 0: take the likeliest")
        ->check(number(0.0, 1000.0))
        ->type_name("T")
        ->capture_default_str();
    command.add_option("--top-k", options.sampling.top_k, "draw among the K likeliest tokens; 0: among all")
        ->check(whole_number(0))
        ->type_name("K")
        ->capture_default_str();
    command
        .add_option("--top-p", options.sampling.top_p,
                    "draw among the likeliest tokens whose probabilities sum to P")
        ->check(number(0.0, 1.0))
        ->type_name("P")
        ->capture_default_str();
    command.add_option("--seed", options.seed, "seed of the draws")
        ->check(whole_number(0))
        ->type_name("N")
        ->capture_default_str();
}

}  // namespace

Action setup_generate(CLI::App& command) {
    const auto options = std::make_shared<WriteOptions>();
    command
        .add_option("RUN|FOLDER", options->run_or_config, std::string(named_run_help) + ", or a TOML file")
        ->required()
        ->type_name("");
    command.add_option("--weights", options->weights, "a Hugging Face folder or a safetensors file")
        ->type_name("PATH");
    auto* const prompt =
        command.add_option("--prompt", options->prompt, "text to continue; for seq2seq: the source text")
            ->type_name("TEXT");
    auto* const prompts =
        command
            .add_option("--prompts", options->prompts,
                        "a file with a prompt a line, each of which is written after; -: the standard input; "
                        "--from FILE --format text in short")
            ->excludes(prompt)
            ->type_name("FILE");
    add_text_files(command, options->files, false)->excludes(prompt)->excludes(prompts);
    add_sampling(command, options->generate);
    command.add_flag("--check-smiles", options->check_smiles,
                     "report the share with balanced parentheses and brackets and closed rings");
    add_overrides(command, options->job, "set one value of the configuration");
    add_json(command, options->json);
    add_json_lines(command, options->lines)->excludes("--json");
    return [options] { return write(*options); };
}

}  // namespace switchyard::cli
