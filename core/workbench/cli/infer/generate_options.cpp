#include "core/workbench/cli/infer/generate_options.h"

#include <charconv>
#include <limits>

#include <CLI/CLI.hpp>

#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/train/run_name.h"

namespace switchyard::cli {
namespace {

void add_prompts(CLI::App& command, WriteOptions& options) {
    auto* const prompt =
        command
            .add_option("--prompt", options.prompt,
                        "text to continue; for seq2seq: the source text; @FILE: what is in FILE")
            ->type_name("TEXT|@FILE");
    auto* const prompts =
        command
            .add_option("--prompts", options.prompts,
                        "a file with a prompt a line, each of which is written after; -: the standard input; "
                        "--from FILE --format text in short")
            ->excludes(prompt)
            ->type_name("FILE");
    add_text_files(command, options.files, false)->excludes(prompt)->excludes(prompts);
}

void add_sampling(CLI::App& command, infer::GenerateOptions& options) {
    auto& sampling = options.sampling;
    add_number(command, "--num-return,--samples", options.samples,
               "number of texts for each prompt; with --beam the best ones", "N", whole_number(1, 1000000))
        ->capture_default_str();
    add_number(command, "--max-tokens", options.max_tokens,
               "largest number of new tokens in a sample; 0: up to batch.max_length", "N", whole_number(0))
        ->capture_default_str();
    add_number(command, "--temperature", sampling.temperature,
               "below 1: prefer likely tokens more; 0: take the likeliest", "T", number(0.0, 1000.0))
        ->capture_default_str();
    add_number(command, "--top-k", sampling.top_k, "draw among the K likeliest tokens; 0: among all", "K",
               whole_number(0))
        ->capture_default_str();
    add_number(command, "--top-p", sampling.top_p,
               "draw among the likeliest tokens whose probabilities sum to P", "P", number(0.0, 1.0))
        ->capture_default_str();
    add_number(command, "--min-p", sampling.min_p,
               "draw among the tokens at least P times as likely as the likeliest", "P", number(0.0, 1.0))
        ->capture_default_str();
    add_number(command, "--repetition-penalty", sampling.repetition_penalty,
               "above 1: tokens that are there already come less easily", "X", number(0.01, 100.0))
        ->capture_default_str();
    command.add_option("--seed", options.seed, "seed of the draws")
        ->check(whole_number(0))
        ->type_name("N")
        ->capture_default_str();
}

void add_beams(CLI::App& command, infer::GenerateOptions& options) {
    add_number(command, "--beam", options.beams, "search the likeliest texts with N beams instead of drawing",
               "N", whole_number(1, 1000));
    add_number(command, "--length-penalty", options.length_penalty,
               "of --beam: scores are divided by length ^ X; above 1 favours long texts", "X",
               number(-10.0, 10.0))
        ->capture_default_str();
    command.add_flag("--early-stopping", options.early_stopping,
                     "of --beam: end as soon as N texts have ended");
}

void add_ends(CLI::App& command, WriteOptions& options) {
    command
        .add_option(
            "--stop", options.generate.stop_texts,
            "end a text before TEXT, which is looked for behind the prompt; may be given several times")
        ->type_name("TEXT")
        ->allow_extra_args(false);
    command
        .add_option("--stop-token", options.stop_tokens,
                    "end a text at this token: its text, or its number as #N; may be given several times")
        ->type_name("TOKEN")
        ->allow_extra_args(false);
}

bool given(const CLI::App& command, const char* option) { return command.count(option) > 0; }

[[noreturn]] void refuse_option(const std::string& option, const std::string& why) {
    throw Failure(option + ": error: " + why);
}

void check_beams(const CLI::App& command, const WriteOptions& options) {
    const auto& generate = options.generate;
    if (generate.beams == 0) {
        for (const char* option : {"--length-penalty", "--early-stopping"})
            if (given(command, option))
                refuse_option(option, "says how beams are scored; expected --beam N with it");
        return;
    }
    const bool draws = given(command, "--temperature") && generate.sampling.temperature != 0.0;
    for (const char* option : {"--temperature", "--top-k", "--top-p", "--min-p", "--seed"}) {
        const bool of_temperature = std::string_view(option) == "--temperature";
        if (of_temperature ? draws : given(command, option))
            refuse_option(option,
                          "is for drawing tokens, and --beam draws none: it searches the likeliest texts; "
                          "expected one of the two");
    }
    if (generate.samples > generate.beams)
        refuse_option("--num-return", "asks for " + std::to_string(generate.samples) + " texts, and --beam " +
                                          std::to_string(generate.beams) + " keeps " +
                                          std::to_string(generate.beams) + "; expected at most that");
    if (options.output.stream)
        refuse_option("--stream",
                      "with --beam no text is known before the search ends; expected one of the two");
}

void check_draft(const CLI::App& command, const WriteOptions& options) {
    if (options.draft.empty()) {
        if (given(command, "--draft-tokens"))
            refuse_option("--draft-tokens", "there is no draft; expected --draft RUN with it");
        return;
    }
    if (options.generate.beams > 0)
        refuse_option("--draft",
                      "drafts speed up texts that grow one token at a time, and --beam searches several; "
                      "expected one of the two");
}

}  // namespace

void add_generate_options(CLI::App& command, WriteOptions& options) {
    command.add_option("RUN|FOLDER", options.run_or_config, std::string(named_run_help) + ", or a TOML file")
        ->required()
        ->type_name("");
    command.add_option("--weights", options.weights, "a Hugging Face folder or a safetensors file")
        ->type_name("PATH");
    add_prompts(command, options);
    add_sampling(command, options.generate);
    add_beams(command, options.generate);
    add_ends(command, options);
    command.add_flag("--stream", options.output.stream, "write each text as it comes, one after another");
    command.add_flag("--no-cache", options.no_cache,
                     "give the model the whole text again for every token, as a check");
    command
        .add_option("--draft", options.draft,
                    "a smaller model of the same tokens, which drafts for the larger")
        ->type_name("RUN|FOLDER");
    add_number(command, "--draft-tokens", options.draft_tokens, "tokens that are drafted at a time", "N",
               whole_number(1, 64))
        ->capture_default_str();
    command.add_flag("--check-smiles", options.output.check_smiles,
                     "report the share with balanced parentheses and brackets and closed rings");
    add_overrides(command, options.job, "set one value of the configuration");
    add_json(command, options.output.json);
    add_json_lines(command, options.output.lines)->excludes("--json");
}

void check_together(const CLI::App& command, const WriteOptions& options) {
    check_beams(command, options);
    check_draft(command, options);
    if (options.output.stream && !options.output.prints_texts())
        refuse_option(
            "--stream",
            "writes texts to the standard output, which is for JSON alone here; expected --json FILE, "
            "or no --stream");
}

std::string prompt_of(const WriteOptions& options) {
    const auto& prompt = options.prompt;
    if (!prompt.starts_with('@')) return prompt;
    if (prompt.starts_with("@@")) return prompt.substr(1);
    const auto file = prompt.substr(1);
    auto text = base::read_text(file);
    if (!text)
        refuse_option("--prompt",
                      "there is no file " + base::quoted(file) + "; for a text that begins with @, write @@");
    if (text->ends_with('\n')) text->pop_back();
    if (text->ends_with('\r')) text->pop_back();
    return *text;
}

infer::Ids stop_tokens_of(const WriteOptions& options, const data::Tokenizer& tokenizer) {
    infer::Ids ids;
    for (const auto& token : options.stop_tokens) {
        std::int64_t id = -1;
        if (token.starts_with('#') && token.size() > 1) {
            const auto* const end = token.data() + token.size();
            const auto read = std::from_chars(token.data() + 1, end, id);
            if (read.ec != std::errc() || read.ptr != end) id = -1;
        } else if (tokenizer.problem_in(token).empty()) {
            const auto pieces = tokenizer.encode(token);
            if (pieces.size() == 1) id = pieces.front();
            if (pieces.size() > 1)
                refuse_option("--stop-token",
                              "'" + base::quoted(token) + "' is " + std::to_string(pieces.size()) +
                                  " tokens of this model; expected one, or --stop for a text");
        }
        if (id < 0 || id >= tokenizer.size() || (id == tokenizer.specials().unk && !token.starts_with('#')))
            refuse_option(
                "--stop-token",
                "'" + base::quoted(token) +
                    "' is no token of this model; expected the text of one, or its number from #0 to #" +
                    std::to_string(tokenizer.size() - 1));
        ids.push_back(id);
    }
    return ids;
}

}  // namespace switchyard::cli
