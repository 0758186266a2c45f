// switchyard data train-tokenizer CONFIG
#include <filesystem>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/shell_text.h"
#include "core/kernel/config/override.h"
#include "core/kernel/config/trainable.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/data/splits.h"
#include "core/workbench/data/tokenizers/open_tokenizer.h"
#include "core/workbench/data/tokenizers/training/train_tokenizer.h"
#include "core/workbench/train/job_data.h"

namespace switchyard::cli {
namespace {

struct TrainTokenizerOptions {
    JobOptions job;
    std::string model = "bpe";
    std::size_t size = 8000;
    std::string folder;
    JsonOption json;
};

void refuse_job(const config::Config& config) {
    if (config.task.kind == config::TaskKind::token_classification)
        throw Failure(config::told_at(config, "task.kind") +
                      "texts of token_classification are columns of words and labels; expected a "
                      "configuration of plain texts");
    if (const auto problem = config::files_problem(config); !problem.empty()) throw Failure(problem);
}

// The texts that the job learns from: none of those that are held out.
data::Splits add_texts(const config::Config& config, data::TokenizerTrainer& trainer) {
    const auto& data = config.data;
    data::Splits counts;
    data::read_splits(
        data::text_request(data, {data.pair_column, data.target_column}),
        [&](const data::RowWay& way, const data::Row& row) {
            for (std::size_t i = 0; i < row.values.size(); ++i) {
                if (auto fault = data::utf8_problem(row.values[i]); !fault.empty())
                    return data::unusable_text(std::move(fault), row.values[i], data.bad_row, i);
            }
            for (const auto& text : row.values)
                if (!way.eval) trainer.add(text);
            return data::RowUse{};
        },
        counts);
    return counts;
}

// The values for --set with which the job reads this file: it may have named another kind of tokenizer, and
// has a model of so many tokens.
std::string values_for(const config::Config& config, const std::string& path) {
    auto data = config.data;
    data.tokenizer = config::TokenizerKind::automatic;
    data.vocabulary = path;
    std::string values = "--set " + base::shell_word("data.vocabulary=" + config::override_text(path));
    if (config.data.tokenizer != data.tokenizer &&
        config.data.tokenizer != data::find_tokenizer(data, "").kind)
        values += " --set data.tokenizer=auto";
    const auto opened = data::open_tokenizer(data);
    if (!opened.tokenizer) throw Failure(joined(opened.problems, "\n"));
    if (opened.tokenizer->size() != config.model.vocab_size)
        values += " --set model.vocab_size=" + std::to_string(opened.tokenizer->size());
    return values;
}

// A run may go by what is there.
void refuse_tokenizer_in(const std::string& folder) {
    for (const char* const name : {"vocab.json", "merges.txt", "vocab.txt", "tokenizer.model"}) {
        const auto file = folder + "/" + name;
        std::error_code ignored;
        if (std::filesystem::exists(file, ignored))
            throw Failure("--out: error: " + file + " is there already; expected another folder");
    }
}

int train_tokenizer(const TrainTokenizerOptions& options) {
    const auto job = load_job_by_manifests(options.job);
    refuse_job(job.config);
    refuse_tokenizer_in(options.folder);
    const data::TokenizerTraining settings{*parse<data::TokenizerModel>(options.model), options.size,
                                           job.config.data.lower_case};
    std::error_code error;
    std::filesystem::create_directories(options.folder, error);
    if (error) throw Failure("--out " + options.folder + ": cannot be made a folder: " + error.message());
    data::TokenizerTrainer trainer(settings);
    auto counts = add_texts(job.config, trainer);
    train::throw_problems(job.config, std::move(counts.problems));
    std::vector<data::TokenizerFile> files;
    try {
        files = trainer.finish();
    } catch (const base::InputError& fault) {
        throw Failure(std::string(fault.what()) + "; give another --vocab-size, or more texts");
    }
    auto written = nlohmann::ordered_json::array();
    for (const auto& file : files) {
        const auto path = options.folder + "/" + file.name;
        write_file(path, file.bytes);
        written.push_back(path);
    }
    write_json(options.json, {{"model", options.model}, {"texts", trainer.texts()}, {"files", written}});
    if (options.json.on_stdout()) return Exit::fine;
    std::cout << base::printable(options.folder) << ": " << options.model << " learnt from "
              << counted(static_cast<std::size_t>(trainer.texts()), "text") << "\ntrain with: "
              << base::printable(values_for(job.config, written.front().get<std::string>())) << '\n';
    return Exit::fine;
}

}  // namespace

Action setup_data_train_tokenizer(CLI::App& command) {
    const auto options = std::make_shared<TrainTokenizerOptions>();
    add_job_options(command, options->job);
    command
        .add_option("--model", options->model,
                    "bpe: byte pairs over bytes, as GPT-2; wordpiece: as BERT; unigram, sentencepiece_bpe: "
                    "SentencePiece's")
        ->check(CLI::IsMember(
            std::vector<std::string>(names<data::TokenizerModel>.begin(), names<data::TokenizerModel>.end())))
        ->capture_default_str()
        ->type_name("MODEL");
    command.add_option("--vocab-size", options->size, "tokens in all")
        ->check(CLI::Range(10, 10'000'000))
        ->capture_default_str()
        ->type_name("N");
    command.add_option("--out", options->folder, "folder for the tokenizer's files")
        ->required()
        ->type_name("FOLDER");
    add_json(command, options->json);
    return [options] { return train_tokenizer(*options); };
}

}  // namespace switchyard::cli
