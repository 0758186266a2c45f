#include "core/workbench/train/session.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "core/kernel/base/joined.h"
#include "core/kernel/config/trainable.h"

#include "core/kernel/runtime/operations/bind.h"
#include "core/workbench/device_graph/cuda_graphs.h"
#include "core/workbench/model/auto_precision.h"
#include "core/workbench/model/maker.h"
#include "core/workbench/model/settled_weights.h"
#include "core/workbench/model/stack.h"
#include "core/workbench/model/weights/adapter_files.h"
#include "core/workbench/model/weights/model_description.h"
#include "core/workbench/model/weights/unused_tensors.h"
#include "core/workbench/model/weights/weights_place.h"
#include "core/workbench/train/parameter_groups.h"
#include "core/workbench/train/sample_part.h"
#include "core/workbench/train/stepped_wholes.h"

namespace switchyard::train {

void check_job(const config::Config& config) {
    auto problems = name_problems(config);
    if (auto problem = config::labels_problem(config); !problem.empty())
        problems.push_back(std::move(problem));
    if (!problems.empty()) throw InputError(problems);
}

namespace {

config::Config checked(config::Config config) {
    check_job(config);
    return config;
}

const resolver::PlanRow& row_of(const resolver::Plan& plan, std::string_view slot, Phase phase) {
    if (const auto* row = plan.find(slot, phase)) return *row;
    throw InputError({"run.phases: the plan has no " + std::string(slot) + " for " +
                      std::string(name(phase)) + "; training needs both train and eval"});
}

// Nothing where the job does not train.
template <class Op>
std::optional<Op> bind_for_training(const config::Config& config, const resolver::Plan& plan,
                                    std::string_view slot, runtime::Registry& registry,
                                    const HostInfo& host) {
    if (!config::trains(config)) return std::nullopt;
    return runtime::bind<Op>(row_of(plan, slot, Phase::train), registry, host);
}

template <class Op>
const Op& needed(const std::optional<Op>& op) {
    if (op) return *op;
    throw InputError(
        {"run.phases: has no train, and only training has an optimizer and a loader of batches "
         "to train on"});
}

std::string describe_plan(const config::Config& config, const resolver::Plan& plan) {
    const auto& model = config.model;
    std::string text = "model: " + std::string(name(model.type)) + ", " + std::to_string(model.layers) +
                       " layers, hidden " + std::to_string(model.hidden_size) + ", " +
                       std::to_string(model.heads) + " heads, vocabulary " +
                       std::to_string(model.vocab_size) +
                       "\noptimizer algorithm: " + config.optimizer.algorithm_name() + "\n";
    for (const auto& row : plan.rows) {
        // What only stands where layers are divided over ranks is not what a run is.
        if (!row.chosen || row.use.slot == model::taking_over_slot) continue;
        text += row.use.slot + " " + row.use.layers + " " + std::string(name(row.use.phase)) + ": " +
                full_name(*row.chosen) + "\n";
    }
    return text;
}

// A loader's position means something in one order of the samples only: of batches that all ranks share, or,
// of a loader that composes batches of its own and hands them out in turn, for one number of ranks.
std::string describe_order(const config::Config& config, std::int64_t samples, std::int64_t ranks,
                           bool shares_batches) {
    const auto of_all = [&](std::int64_t own) { return std::to_string(shares_batches ? ranks * own : own); };
    return "task: " + std::string(name(config.task.kind)) + ", texts as " +
           std::string(name(config.data.tokenizer)) + "\ndata: " + std::to_string(samples) +
           " samples in batches of " + of_all(config.batch.size) +
           (config.batch.tokens > 0 ? " and " + of_all(config.batch.tokens) + " tokens" : "") +
           (ranks > 1 && !shares_batches ? " on each of " + std::to_string(ranks) + " ranks" : "") +
           (config.data_loader.shuffle ? ", shuffled" : "") +
           (config.data_loader.drop_last ? ", last dropped" : "") + ", seed " +
           std::to_string(config.run.seed) + "\n";
}

}  // namespace

Session::Session(config::Config config, const resolver::Plan& plan, runtime::Registry& registry,
                 const HostInfo& host)
    : config_(checked(model::with_precision_of(std::move(config), plan))),
      plan_text_(describe_plan(config_, plan)),
      plan_(plan, registry, host),
      model_(model::make_model(config_, plan_, parameters_, &linears_)),
      optimizer_(bind_for_training<runtime::OptimizerOp>(config_, plan, "optimizer", registry, host)),
      train_loader_(bind_for_training<runtime::DataLoaderOp>(config_, plan, "data_loader", registry, host)),
      eval_loader_(
          runtime::bind<runtime::DataLoaderOp>(row_of(plan, "data_loader", Phase::eval), registry, host)) {
    freeze(config_, parameters_);
}

namespace {

// Names that transformers give where nobody gave any.
bool is_numbered(const std::string& label) { return label.starts_with("LABEL_"); }

// A classifier tells its classes by their numbers alone.
void check_labels(const config::Config& config, const std::vector<std::string>& theirs,
                  model::LoadedWeights& weights) {
    const auto& ours = config.task.labels;
    const bool fresh = std::ranges::find(weights.fresh, "classifier.weight") != weights.fresh.end();
    if (fresh || theirs.empty() || ours.empty() || ours == theirs || is_numbered(theirs.front())) return;
    const auto what = "the classifier of " + weights.file + " was trained for " + base::joined(theirs);
    if (std::ranges::is_permutation(ours, theirs))
        throw InputError({config::told_at(config, "task.labels") + what +
                          ", in this order; expected the same order, got " + base::joined(ours)});
    weights.notes.push_back(what + "; its values are what that for " + base::joined(ours) + " begins with");
}

}  // namespace

void Session::load_initial_weights(bool settled) {
    const auto& path = config_.train.weights;
    if (path.empty() && !parameters_.quantized().empty())
        throw InputError({config::told_at(config_, "quantization.method") +
                          "there are no weights that are stored so; expected the folder that `switchyard "
                          "quantize` wrote, or none"});
    if (!path.empty()) read_initial_weights(path);
    if (settled) settle_weights();
}

void Session::read_initial_weights(const std::string& path) {
    auto described = model::describe_weights(path);
    if (!described.error.empty())
        throw InputError(
            {(described.file == path ? config::told_at(config_, "train.weights") : "") + described.error});
    if (auto problems = model::differences(config_.model, described); !problems.empty())
        throw InputError(std::move(problems));
    if (const auto place = model::find_weights(path); !place.problem.empty())
        throw InputError({config::told_at(config_, "train.weights") + place.problem});
    if (model_parts_) {
        auto whole = model_parts_->whole();
        weights_ = model::load_weights(path, config_, whole);
        if (weights_.problems.empty()) model_parts_->take(whole);
    } else {
        weights_ = model::load_weights(path, config_, parameters_);
    }
    if (!weights_.problems.empty()) throw InputError(weights_.problems);
    weights_.notes = std::move(described.notes);
    if (auto line = model::unused_line(weights_.file, weights_.unused); !line.empty())
        weights_.notes.push_back(std::move(line));
    if (!weights_.index_note.empty()) weights_.notes.push_back(weights_.index_note);
    check_labels(config_, described.labels, weights_);
    load_adapter();
}

std::int64_t Session::settle_weights() {
    if (config::trains(config_)) return 0;
    return model::settle_weights(linears_);
}

void Session::load_adapter() {
    const auto& lora = config_.lora;
    if (lora.rank == 0 || lora.from.empty()) return;
    try {
        const auto whole = model_parts_ ? model_parts_->whole() : parameters_;
        const auto problems = model::load_adapter(lora.from, config_, whole);
        if (!problems.empty()) throw InputError(problems);
        if (model_parts_) model_parts_->take(whole);
    } catch (const base::InputError& error) {
        throw InputError({config::told_at(config_, "lora.from") + error.what()});
    }
}

void Session::share_with(distributed::Group& group) {
    const auto refuse = [&](const char* key) {
        throw InputError({config::told_at(config_, key) +
                          "only `switchyard train` gives ranks parts of a model; expected 1"});
    };
    const auto& [part, stage] = std::tie(config_.distributed.part, config_.distributed.stage);
    if (part.parts != config_.mesh.tensor) refuse("distributed.mesh.tensor");
    if (stage.parts != config_.mesh.pipeline) refuse("distributed.mesh.pipeline");
    mesh_.emplace(group, config_.mesh);
    if (!part.whole() || !stage.whole())
        model_parts_.emplace(*mesh_, config_, parameters_, optimizer_ && steps_wholes_only(*optimizer_));
}

LoadedCheckpoint Session::load_checkpoint(const std::string& path) {
    if (!model_parts_) return train::load_checkpoint(path, plan_text_, parameters_);
    auto whole = model_parts_->whole();
    auto loaded = train::load_checkpoint(path, plan_text_, whole);
    if (!loaded.state) return loaded;
    model_parts_->take(whole);
    loaded.state = model_parts_->own(std::move(*loaded.state));
    return loaded;
}

void Session::load_tokenizer() { tokenizer_ = open_tokenizer(config_); }

void Session::load_data() { use_data(tokenizer_, read_data(config_, tokenizer_)); }

void Session::use_data(std::shared_ptr<const data::Tokenizer> tokenizer, data::Splits data) {
    tokenizer_ = std::move(tokenizer);
    data_ = std::move(data);
    const bool own = train_loader_ && train_loader_->composition() == Composition::own;
    plan_text_ += describe_order(config_, data_.train->size(), data_ranks(), !own);
}

void Session::load_eval_files(const EvalFiles& files, const data::LabelScale& scale) {
    data_ = read_eval_files(config_, tokenizer_, files, scale);
}

LoaderParams Session::params(bool training) const {
    return loader_params(config_, tokenizer_ ? tokenizer_->filling() : 0, training);
}

const runtime::DataLoaderOp& Session::start_train_loader(std::shared_ptr<const SampleSource> samples) {
    auto all = params(true);
    all.drop_last = false;
    train_loader().start(std::move(samples), all);
    return train_loader();
}

const runtime::DataLoaderOp& Session::train_loader() const { return needed(train_loader_); }

const runtime::OptimizerOp& Session::optimizer() const { return needed(optimizer_); }

const runtime::DataLoaderOp& Session::start_eval_loader(std::shared_ptr<const SampleSource> samples) {
    eval_loader_.start(std::move(samples), params(false));
    return eval_loader_;
}

// nullptr: steps are not captured.
device_graph::GraphMaker* Session::graphs() {
    if (!config_.train.cuda_graph || graphs_ != nullptr) return graphs_.get();
    const auto problems = capture_refusals(plan_, optimizer());
    if (!problems.empty()) throw InputError(problems);
    auto loaded = device_graph::load_cuda_graphs("train.cuda_graph");
    if (loaded.maker == nullptr) throw InputError({loaded.error});
    graphs_ = std::move(loaded.maker);
    return graphs_.get();
}

LoaderParams Session::shared_params() const {
    auto shared = params(true);
    if (!mesh_) return shared;
    shared.rank = mesh_->data_index();
    shared.world_size = mesh_->data_ranks();
    return shared;
}

// Every rank has something to do.
void Session::check_shares() const {
    if (!mesh_) return;
    const auto ranks = mesh_->data_ranks();
    const auto refuse = [&](const char* key, const char* what, std::int64_t samples) {
        throw InputError({config::told_at(config_, key) + std::to_string(samples) + " " + what +
                          " samples are fewer than the " + std::to_string(ranks) +
                          " ranks; expected at least one for each"});
    };
    if (data_.train->size() < ranks) refuse("data.train", "training", data_.train->size());
    const auto evaluated = data_.eval->size();
    if (evaluated > 0 && evaluated < ranks) refuse("data.eval", "evaluation", evaluated);
    if (auto problems = rank_problems(config_); !problems.empty()) throw InputError(std::move(problems));
}

Trainer Session::make_trainer() {
    check_shares();
    train_loader().start(data_.train, shared_params());
    if (train_loader().batches(0) == 0) {
        const auto samples = data_.train->size(), ranks = data_ranks();
        throw InputError({config::told_at(config_, "batch.size") +
                          "data_loader.drop_last leaves no batch of " + std::to_string(samples) + " samples" +
                          (ranks > 1 ? " for each of " + std::to_string(ranks) + " ranks" : "") +
                          "; expected a batch.size of at most " + std::to_string(samples / ranks)});
    }
    const runtime::DataLoaderOp* evaluated = nullptr;
    std::int64_t first = 0;  // sample of this rank's part
    if (data_.eval->size() > 0) {
        auto samples = data_.eval;
        if (mesh_) {
            auto part = std::make_shared<SamplePart>(samples, mesh_->data_index(), mesh_->data_ranks());
            first = part->first();
            samples = std::move(part);
        }
        evaluated = &start_eval_loader(std::move(samples));
    }
    return Trainer({config_, plan_, *model_, parameters_, optimizer(), train_loader(), evaluated, plan_text_,
                    graphs(), data_.scale, mesh_ ? &*mesh_ : nullptr, model_parts_ ? &*model_parts_ : nullptr,
                    first});
}

Trainer Session::make_trainer(std::shared_ptr<const SampleSource> samples) {
    train_loader().start(std::move(samples), shared_params());
    return Trainer({config_,
                    plan_,
                    *model_,
                    parameters_,
                    optimizer(),
                    train_loader(),
                    nullptr,
                    plan_text_,
                    graphs(),
                    {},
                    mesh_ ? &*mesh_ : nullptr,
                    model_parts_ ? &*model_parts_ : nullptr});
}

std::vector<model::Executed> Session::executed() const {
    auto all = plan_.executed();
    const auto add = [&](const char* slot, Phase phase, const runtime::BindingBase& binding) {
        all.push_back(
            {slot, "model", phase, binding.plugin(), binding.component(), binding.executed().calls()});
    };
    if (optimizer_) add("optimizer", Phase::train, optimizer_->binding());
    if (train_loader_) add("data_loader", Phase::train, train_loader_->binding());
    add("data_loader", Phase::eval, eval_loader_.binding());
    return all;
}

}  // namespace switchyard::train
