#include "core/workbench/train/job_data.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <switchyard/interfaces/data_loader.h>
#include "core/kernel/base/problem_lines.h"
#include "core/kernel/config/source_table.h"
#include "core/kernel/config/table.h"
#include "core/kernel/config/trainable.h"
#include "core/workbench/data/labelled_texts.h"
#include "core/workbench/data/labelled_tokens.h"
#include "core/workbench/data/language_data.h"
#include "core/workbench/data/next_sentences.h"
#include "core/workbench/data/pair_samples.h"
#include "core/workbench/data/tokenizers/open_tokenizer.h"

namespace switchyard::train {
namespace {

void throw_if(const std::string& problem) {
    if (!problem.empty()) throw InputError({problem});
}

// Problems that name a key, "data.train: ...", with its place.
std::vector<std::string> with_places(const config::Config& config, std::vector<std::string> problems) {
    for (auto& problem : problems) {
        const auto key = problem.substr(0, problem.find(": "));
        if (key == config::source_path && !config.data.sources.empty())
            problem = config::to_string(config.data.sources.front().origin) + ": error: " + problem;
        if (config::find_field(key) != nullptr)
            problem = config::told_at(config, key) + problem.substr(std::min(problem.size(), key.size() + 2));
    }
    return problems;
}

data::Splits read(const config::Config& config, const std::shared_ptr<const data::Tokenizer>& tokenizer,
                  const data::LabelScale& scale = {}) {
    using Kind = config::TaskKind;
    const auto& data = config.data;
    const auto length = config.batch.max_length;
    const auto seed = static_cast<std::uint64_t>(config.run.seed);
    const auto language = [&](data::LanguageTask task) {
        return data::read_language_data(data, {task, length, config.model.vocab_size, seed}, tokenizer);
    };
    switch (config.task.kind) {
        case Kind::classification:
        case Kind::regression:
        case Kind::multi_label:
            return data::read_labelled_texts(config, *tokenizer, scale);
        case Kind::masked_lm:
            return language(data::LanguageTask::masked);
        case Kind::causal_lm:
            return language(data::LanguageTask::causal);
        case Kind::seq2seq:
            return data.targets == config::Targets::spans ? language(data::LanguageTask::spans)
                                                          : data::read_pairs(data, length, *tokenizer, seed);
        case Kind::token_classification:
            return data::read_labelled_tokens(config, *tokenizer);
        case Kind::next_sentence:
            return data::read_next_sentences(config, *tokenizer);
    }
    throw std::logic_error("a task without a reader");
}

// Components are made for the lengths that the job promises: a shorter sample would be refused in a step.
void add_too_short(const config::Config& config, const char* half, const SampleSource* samples,
                   std::vector<std::string>& problems) {
    const auto least = config.batch.min_length;
    if (samples == nullptr || least <= 1) return;
    std::int64_t shorter = 0, shortest = least;
    for (std::int64_t i = 0; i < samples->size(); ++i) {
        const auto length = samples->length(i);
        if (length < least) ++shorter;
        shortest = std::min(shortest, length);
    }
    if (shorter == 0) return;
    problems.push_back("batch.min_length: is " + std::to_string(least) + ", but " + std::to_string(shorter) +
                       " of " + std::to_string(samples->size()) + " samples of data." + half +
                       " are shorter; expected at most " + std::to_string(shortest));
}

// The problems of the data, and of what the job says of their lengths.
void throw_problems_of(const config::Config& config, data::Splits& splits) {
    if (splits.problems.empty()) {
        add_too_short(config, "train", splits.train.get(), splits.problems);
        add_too_short(config, "eval", splits.eval.get(), splits.problems);
    }
    throw_problems(config, std::move(splits.problems));
}

config::Config with_eval_files(config::Config config, const EvalFiles& files) {
    auto& data = config.data;
    data.train.clear();
    data.sources.clear();
    data.target_train.clear();
    data.eval = files.files;
    data.target_eval = files.targets;
    // What the run itself read of its own files says nothing of these.
    const auto rows = config.origins.find("data.max_rows");
    if (rows == config.origins.end() || rows->second.source != config::Origin::Source::override)
        data.max_rows = 0;
    return config;
}

}  // namespace

InputError::InputError(const std::vector<std::string>& problems)
    : base::InputError(base::problem_lines(problems)) {}

void throw_problems(const config::Config& config, std::vector<std::string> problems) {
    if (!problems.empty()) throw InputError(with_places(config, std::move(problems)));
}

std::shared_ptr<const data::Tokenizer> open_tokenizer(const config::Config& config) {
    const auto& data = config.data;
    throw_if(config::vocabulary_problem(config));
    auto opened = data::open_tokenizer(data, config.train.weights);
    if (!opened.tokenizer && *opened.key != '\0' && !opened.problems.empty())
        opened.problems.front() = config::told_at(config, opened.key) + opened.problems.front();
    if (!opened.tokenizer) throw InputError(with_places(config, std::move(opened.problems)));
    if (auto problem = config::vocabulary_size_problem(config, opened.tokenizer->size()); !problem.empty())
        throw InputError({std::move(problem)});
    const auto* const key = *opened.key != '\0' ? opened.key : "data.tokenizer";
    if (auto lack = data::missing_special(*opened.tokenizer, config.task.kind, "the tokenizer");
        !lack.empty())
        throw InputError({config::told_at(config, key) + lack});
    return std::move(opened.tokenizer);
}

data::Splits read_data(const config::Config& config,
                       const std::shared_ptr<const data::Tokenizer>& tokenizer) {
    throw_if(config::files_problem(config));
    auto splits = read(config, tokenizer);
    throw_problems_of(config, splits);
    return splits;
}

data::Splits read_eval_files(const config::Config& config,
                             const std::shared_ptr<const data::Tokenizer>& tokenizer, const EvalFiles& files,
                             const data::LabelScale& scale) {
    constexpr std::string_view key = "data.eval: ";  // which nobody wrote
    auto splits = read(with_eval_files(config, files), tokenizer, scale);
    for (auto& problem : splits.problems)
        if (problem.starts_with(key)) problem.erase(0, key.size());
    throw_problems_of(config, splits);
    return splits;
}

std::vector<data::TextPair> read_eval_pairs(const config::Config& config, const data::Tokenizer& tokenizer,
                                            const EvalFiles& files) {
    return data::read_text_pairs(with_eval_files(config, files).data, tokenizer);
}

LoaderParams loader_params(const config::Config& config, std::int64_t pad, bool training) {
    LoaderParams params;
    params.batch_size = config.batch.size;
    params.token_budget = config.batch.tokens;
    params.max_length = config.batch.max_length;
    params.pad_multiple = config.batch.pad_multiple;
    params.pinned = config.run.device == Device::cuda;
    params.pad_id = pad;
    params.layout = config.batch.planned_layout();
    params.shuffle = training && config.data_loader.shuffle;
    params.drop_last = training && config.data_loader.drop_last;
    params.seed = static_cast<std::uint64_t>(config.run.seed);
    return params;
}

}  // namespace switchyard::train
