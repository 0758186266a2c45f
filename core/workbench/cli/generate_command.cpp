// switchyard generate RUN_OR_CONFIG
#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/printable.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/planned_job.h"
#include "core/workbench/cli/run_name.h"
#include "core/workbench/cli/text_lines.h"
#include "core/workbench/data/tokenizers/smiles_text.h"
#include "core/workbench/infer/generate.h"
#include "core/workbench/train/session.h"

namespace switchyard::cli {
namespace {

struct WriteOptions {
    std::string run_or_config;
    std::string weights;
    std::string prompt;
    std::string prompts;  // a file of them; empty: there is `prompt` alone
    JobOptions job;
    infer::GenerateOptions generate;
    bool check_smiles = false;
    JsonOption json;
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

// The prompt as it was given, and what the tokens add to it: some tokenizers write a token otherwise where a
// text begins with it.
std::string continued(const data::Tokenizer& tokenizer, const std::string& prompt,
                      const std::vector<std::int64_t>& ids) {
    auto all = tokenizer.encode(prompt);
    const auto before = tokenizer.decode(all);
    all.insert(all.end(), ids.begin(), ids.end());
    const auto whole = tokenizer.decode(all);
    return prompt + (whole.starts_with(before) ? whole.substr(before.size()) : tokenizer.decode(ids));
}

// What makes one text out of each prompt.
class Writer {
public:
    Writer(const WriteOptions& options, const train::Session& session)
        : options_(options), session_(session) {}

    void write(const std::string& prompt) {
        const auto& config = session_.config();
        const auto& tokenizer = session_.tokenizer();
        const bool goes_on = config.task.kind == config::TaskKind::causal_lm;
        for (const auto& sample : infer::generate(config, session_.plan(), session_.model(), tokenizer,
                                                  prompt, options_.generate)) {
            const auto text =
                goes_on ? continued(tokenizer, prompt, sample.ids) : tokenizer.decode(sample.ids);
            nlohmann::ordered_json line{
                {"text", text}, {"tokens", sample.ids.size()}, {"ended", sample.ended}};
            if (!options_.prompts.empty()) line["prompt"] = prompt;
            if (options_.check_smiles) add_fault(line, text, sample.ended);
            samples_.push_back(std::move(line));
            if (!options_.json.on_stdout()) base::print_data(text + '\n');
        }
    }

    void finish() {
        nlohmann::ordered_json all{{"samples", samples_}};
        const auto count = static_cast<std::int64_t>(samples_.size());
        if (options_.check_smiles && count > 0) {
            all["well_bracketed_share"] = static_cast<double>(good_) / static_cast<double>(count);
            if (!options_.json.on_stdout()) std::cout << share_text(good_, count) << '\n';
        }
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
    nlohmann::ordered_json samples_ = nlohmann::ordered_json::array();
    std::int64_t good_ = 0;
};

// Each with what is said before an error of it.
std::vector<std::pair<std::string, std::string>> prompts_of(const WriteOptions& options) {
    if (options.prompts.empty()) return {{"", options.prompt}};
    std::vector<std::pair<std::string, std::string>> prompts;
    const auto file = options.prompts == "-" ? std::string("standard input") : options.prompts;
    for (auto& line : text_lines(options.prompts))
        prompts.emplace_back(file + ":" + std::to_string(prompts.size() + 1) + ": ", std::move(line));
    if (prompts.empty()) throw Failure(file + ": error: is empty; expected a prompt a line");
    return prompts;
}

int write(const WriteOptions& options) {
    const auto prompts = prompts_of(options);
    const auto planned = plan_job(job_of(options));
    const auto& config = planned->config;
    if (config.train.weights.empty())
        throw Failure(options.run_or_config +
                      ": names no weights, and an untrained model generates only noise; give the folder of "
                      "a run, or weights with --weights");
    train::Session session(config, planned->plan, *planned->registry, planned->host);
    session.load_tokenizer();
    session.load_initial_weights();
    for (const auto& [place, prompt] : prompts) {
        const auto problem = infer::generate_problem(config, session.tokenizer(), prompt);
        if (!problem.empty()) throw Failure(place + problem);
    }
    Writer writer(options, session);
    for (const auto& [place, prompt] : prompts) writer.write(prompt);
    writer.finish();
    return Exit::fine;
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
        .add_option("RUN", options->run_or_config,
                    "folder of a run, a checkpoint of it (RUN@best, RUN@last, RUN@step-200), or a TOML file")
        ->required()
        ->type_name("");
    command.add_option("--weights", options->weights, "a Hugging Face folder or a safetensors file")
        ->type_name("PATH");
    auto* const prompt =
        command.add_option("--prompt", options->prompt, "text to continue; for seq2seq: the source text")
            ->type_name("TEXT");
    command
        .add_option("--prompts", options->prompts,
                    "a file with a prompt a line, each of which is written after; -: the standard input")
        ->excludes(prompt)
        ->type_name("FILE");
    add_sampling(command, options->generate);
    command.add_flag("--check-smiles", options->check_smiles,
                     "report the share with balanced parentheses and brackets and closed rings");
    add_overrides(command, options->job, "set one value of the configuration");
    add_json(command, options->json);
    return [options] { return write(*options); };
}

}  // namespace switchyard::cli
