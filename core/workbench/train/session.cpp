#include "core/workbench/train/session.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <utility>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/config/table.h"
#include "core/kernel/config/trainable.h"

#include "core/kernel/runtime/operations/bind.h"
#include "core/workbench/data/labelled_texts.h"
#include "core/workbench/data/labelled_tokens.h"
#include "core/workbench/data/language_data.h"
#include "core/workbench/data/next_sentences.h"
#include "core/workbench/data/pair_samples.h"
#include "core/workbench/data/tokenizers/open_tokenizer.h"
#include "core/workbench/model/auto_precision.h"
#include "core/workbench/model/maker.h"
#include "core/workbench/model/weights/huggingface_config.h"
#include "core/workbench/model/weights/weights_place.h"
#include "core/workbench/train/graph/capture_refusals.h"
#include "core/workbench/train/graph/cuda_graphs.h"

namespace switchyard::train {
namespace {

std::string joined_lines(const std::vector<std::string>& lines) {
    constexpr std::size_t most = base::limits::listed_problems;
    const auto text = base::joined(std::span(lines).first(std::min(lines.size(), most)), "\n");
    if (lines.size() == most + 1) return text + "\n" + lines.back();
    return lines.size() > most ? text + "\nand " + std::to_string(lines.size() - most) + " more" : text;
}

void throw_if(const std::string& problem) {
    if (!problem.empty()) throw InputError({problem});
}

// Problems that name a key, "data.train: ...", with its place.
std::vector<std::string> with_places(const config::Config& config, std::vector<std::string> problems) {
    for (auto& problem : problems) {
        const auto key = problem.substr(0, problem.find(": "));
        if (config::find_field(key) != nullptr)
            problem = config::told_at(config, key) + problem.substr(std::min(problem.size(), key.size() + 2));
    }
    return problems;
}

config::Config checked(config::Config config) {
    throw_if(config::labels_problem(config));
    return config;
}

const resolver::PlanRow& row_of(const resolver::Plan& plan, std::string_view slot, Phase phase) {
    if (const auto* row = plan.find(slot, phase)) return *row;
    throw InputError({"run.phases: the plan has no " + std::string(slot) + " for " +
                      std::string(name(phase)) + "; training needs both train and eval"});
}

std::string describe_plan(const config::Config& config, const resolver::Plan& plan) {
    const auto& model = config.model;
    std::string text = "model: " + std::string(name(model.type)) + ", " + std::to_string(model.layers) +
                       " layers, hidden " + std::to_string(model.hidden_size) + ", " +
                       std::to_string(model.heads) + " heads, vocabulary " +
                       std::to_string(model.vocab_size) +
                       "\noptimizer algorithm: " + std::string(name(config.optimizer.algorithm)) + "\n";
    for (const auto& row : plan.rows) {
        if (!row.chosen) continue;
        text += row.use.slot + " " + row.use.layers + " " + std::string(name(row.use.phase)) + ": " +
                row.chosen->plugin + "/" + row.chosen->component +
                (row.chosen->variant.empty() ? "" : "@" + row.chosen->variant) + "\n";
    }
    return text;
}

// A loader's position means something in one order of the samples only.
std::string describe_order(const config::Config& config, std::int64_t samples) {
    return "task: " + std::string(name(config.task.kind)) + ", texts as " +
           std::string(name(config.data.tokenizer)) + "\ndata: " + std::to_string(samples) +
           " samples in batches of " + std::to_string(config.batch.size) +
           (config.batch.tokens > 0 ? " and " + std::to_string(config.batch.tokens) + " tokens" : "") +
           (config.data_loader.shuffle ? ", shuffled" : "") +
           (config.data_loader.drop_last ? ", last dropped" : "") + ", seed " +
           std::to_string(config.run.seed) + "\n";
}

}  // namespace

InputError::InputError(const std::vector<std::string>& problems) : base::InputError(joined_lines(problems)) {}

Session::Session(config::Config config, const resolver::Plan& plan, runtime::Registry& registry,
                 const HostInfo& host)
    : config_(checked(model::with_precision_of(std::move(config), plan))),
      plan_text_(describe_plan(config_, plan)),
      plan_(plan, registry, host),
      model_(model::make_model(config_, plan_, parameters_)),
      optimizer_(
          runtime::bind<runtime::OptimizerOp>(row_of(plan, "optimizer", Phase::train), registry, host)),
      train_loader_(
          runtime::bind<runtime::DataLoaderOp>(row_of(plan, "data_loader", Phase::train), registry, host)),
      eval_loader_(
          runtime::bind<runtime::DataLoaderOp>(row_of(plan, "data_loader", Phase::eval), registry, host)) {}

void Session::load_initial_weights() {
    const auto& path = config_.train.weights;
    if (path.empty()) return;
    std::error_code ignored;
    std::vector<std::string> notes;
    const auto description = path + "/config.json";
    if (std::filesystem::exists(description, ignored)) {
        const auto theirs = model::read_huggingface_config(description);
        if (!theirs.error.empty()) throw InputError({theirs.error});
        notes = theirs.notes;
        auto problems = model::differences(config_.model, theirs.model);
        for (auto& problem : problems) problem = description + ": not the configured model: model." + problem;
        if (!problems.empty()) throw InputError(problems);
    }
    if (const auto place = model::find_weights(path); !place.problem.empty())
        throw InputError({config::told_at(config_, "train.weights") + place.problem});
    weights_ = model::load_weights(path, config_, parameters_);
    if (!weights_.problems.empty()) throw InputError(weights_.problems);
    weights_.notes = std::move(notes);
}

void Session::load_tokenizer() {
    const auto& data = config_.data;
    throw_if(config::vocabulary_problem(config_));
    auto opened = data::open_tokenizer(data);
    if (!opened.tokenizer && !data.vocabulary.empty() && !opened.problems.empty())
        opened.problems.front() = config::told_at(config_, "data.vocabulary") + opened.problems.front();
    if (!opened.tokenizer) throw InputError(with_places(config_, std::move(opened.problems)));
    if (auto problem = config::vocabulary_size_problem(config_, opened.tokenizer->size()); !problem.empty())
        throw InputError({std::move(problem)});
    tokenizer_ = std::move(opened.tokenizer);
}

data::Splits Session::read_data() const {
    using Kind = config::TaskKind;
    const auto& data = config_.data;
    const auto length = config_.batch.max_length;
    const auto language = [&](data::LanguageTask task) {
        return data::read_language_data(
            data, {task, length, config_.model.vocab_size, static_cast<std::uint64_t>(config_.run.seed)},
            tokenizer_);
    };
    switch (config_.task.kind) {
        case Kind::classification:
        case Kind::regression:
        case Kind::multi_label:
            return data::read_labelled_texts(config_, *tokenizer_);
        case Kind::masked_lm:
            return language(data::LanguageTask::masked);
        case Kind::causal_lm:
            return language(data::LanguageTask::causal);
        case Kind::seq2seq:
            return data.targets == config::Targets::spans ? language(data::LanguageTask::spans)
                                                          : data::read_pairs(data, length, *tokenizer_);
        case Kind::token_classification:
            return data::read_labelled_tokens(config_, *tokenizer_);
        case Kind::next_sentence:
            return data::read_next_sentences(config_, *tokenizer_);
    }
    throw std::logic_error("a task without a reader");
}

void Session::load_data() {
    throw_if(config::files_problem(config_));
    data_ = read_data();
    if (!data_.problems.empty()) throw InputError(with_places(config_, std::move(data_.problems)));
    plan_text_ += describe_order(config_, data_.train->size());
}

LoaderParams Session::loader_params(bool training) const {
    LoaderParams params;
    params.batch_size = config_.batch.size;
    params.token_budget = config_.batch.tokens;
    params.max_length = config_.batch.max_length;
    params.pad_multiple = config_.batch.pad_multiple;
    params.pinned = config_.run.device == Device::cuda;
    params.pad_id = tokenizer_ ? tokenizer_->specials().pad : 0;
    params.layout = config_.batch.planned_layout();
    params.shuffle = training && config_.data_loader.shuffle;
    params.drop_last = training && config_.data_loader.drop_last;
    params.seed = static_cast<std::uint64_t>(config_.run.seed);
    return params;
}

const runtime::DataLoaderOp& Session::start_eval_loader(const SampleSource& samples) {
    eval_loader_.start(samples, loader_params(false));
    return eval_loader_;
}

// nullptr: steps are not captured.
GraphMaker* Session::graphs() {
    if (!config_.train.cuda_graph || graphs_ != nullptr) return graphs_.get();
    const auto problems = capture_refusals(plan_, optimizer_);
    if (!problems.empty()) throw InputError(problems);
    auto loaded = load_cuda_graphs();
    if (loaded.maker == nullptr) throw InputError({loaded.error});
    graphs_ = std::move(loaded.maker);
    return graphs_.get();
}

Trainer Session::make_trainer() {
    train_loader_.start(*data_.train, loader_params(true));
    if (train_loader_.batches(0) == 0) {
        throw InputError({config::told_at(config_, "batch.size") +
                          "data_loader.drop_last leaves no batch of " + std::to_string(data_.train->size()) +
                          " samples; expected a batch.size of at most that"});
    }
    return Trainer({config_, plan_, *model_, parameters_, optimizer_, train_loader_,
                    &start_eval_loader(*data_.eval), plan_text_, graphs(), data_.scale});
}

Trainer Session::make_trainer(const SampleSource& samples) {
    train_loader_.start(samples, loader_params(true));
    return Trainer(
        {config_, plan_, *model_, parameters_, optimizer_, train_loader_, nullptr, plan_text_, graphs(), {}});
}

std::vector<model::Executed> Session::executed() const {
    auto all = plan_.executed();
    all.push_back({"optimizer", "model", Phase::train, optimizer_.binding().plugin(),
                   optimizer_.binding().component(), optimizer_.binding().executed().calls()});
    for (const auto& [phase, loader] :
         {std::pair(Phase::train, &train_loader_), std::pair(Phase::eval, &eval_loader_)}) {
        const auto& binding = loader->binding();
        all.push_back({"data_loader", "model", phase, binding.plugin(), binding.component(),
                       binding.executed().calls()});
    }
    return all;
}

}  // namespace switchyard::train
