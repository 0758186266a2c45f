// All that a job needs at run time, made from a configuration and its plan: components, model, weights,
// tokenizer, data.
//
// Config and Plan -> Session -> Trainer | evaluate | predict | check.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel/base/input_error.h"
#include "core/kernel/config/config.h"
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/operations/data_loader_op.h"
#include "core/kernel/runtime/operations/optimizer_op.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/data/splits.h"
#include "core/workbench/data/tokenizers/tokenizer.h"
#include "core/workbench/model/bound_plan.h"
#include "core/workbench/model/model.h"
#include "core/workbench/model/parameters.h"
#include "core/workbench/model/weights/load_weights.h"
#include "core/workbench/train/job_data.h"
#include "core/workbench/train/trainer.h"

namespace switchyard::train {

// What cannot be run whatever the plan: labels that a task lacks, names of nothing in [[group]] and [lora].
// Throws InputError with all problems.
void check_job(const config::Config& config);

class Session {
public:
    // Creates the components and the model with its paper's initialisation. `registry` and `host` outlive it.
    // Throws InputError for a model or task that cannot be run, PluginError for a component that cannot be
    // created.
    Session(config::Config config, const resolver::Plan& plan, runtime::Registry& registry,
            const HostInfo& host);

    // Sets the parameters from [train] weights if there are any, and settles them, read or drawn, unless they
    // are to be read once more. Throws InputError.
    void load_initial_weights(bool settled = true);
    // In a job without the phase train: components make their forms of the weights, which do not change any
    // more, and weights that these replace are let go. Returns the bytes of those. Elsewhere nothing happens.
    std::int64_t settle_weights();
    // Reads or makes the vocabulary, and with it the data that the task is learnt from. Throws InputError
    // with all problems.
    void load_tokenizer();
    void load_data();
    // Instead of both: what open_tokenizer and read_data gave of this configuration.
    void use_data(std::shared_ptr<const data::Tokenizer> tokenizer, data::Splits data);
    // Instead of load_data: data().eval only.
    void load_eval_files(const EvalFiles& files, const data::LabelScale& scale);

    // Instead of data().eval: before make_trainer.
    void evaluate_on(std::shared_ptr<const SampleSource> samples) { data_.eval = std::move(samples); }

    // Each step's batches will be shared with these ranks, which outlive it, and of the model each has the
    // part that the configuration says: before data are loaded. Throws InputError where it is made otherwise
    // than distributed.mesh says.
    void share_with(distributed::Group& group);
    // Processes that share the training, and groups of them that have batches of their own.
    std::int64_t ranks() const { return mesh_ ? mesh_->world().world_size() : 1; }
    std::int64_t data_ranks() const { return mesh_ ? mesh_->data_ranks() : 1; }

    // As train::load_checkpoint: sets the parameters, and gives the state of what this process has of the
    // model. On all ranks.
    LoadedCheckpoint load_checkpoint(const std::string& path);
    // Where ranks have a part of the model each; nullptr: it is whole.
    const ModelParts* model_parts() const { return model_parts_ ? &*model_parts_ : nullptr; }
    ModelParts* model_parts() { return model_parts_ ? &*model_parts_ : nullptr; }
    // Of ranks that share the training; nullptr: there are none.
    const distributed::Mesh* mesh() const { return mesh_ ? &*mesh_ : nullptr; }

    // Starts the loaders and makes the trainer; after load_data. Throws InputError if the data makes no
    // batch.
    Trainer make_trainer();
    // The same on other samples, with nothing to evaluate on: for benchmarks. Needs no load_data.
    Trainer make_trainer(std::shared_ptr<const SampleSource> samples);
    // Begins batches of `samples` as training has them, but leaves none out.
    const runtime::DataLoaderOp& start_train_loader(std::shared_ptr<const SampleSource> samples);
    // Begins batches of `samples` in order, for evaluation.
    const runtime::DataLoaderOp& start_eval_loader(std::shared_ptr<const SampleSource> samples);

    // With what "auto" in [precision] became.
    const config::Config& config() const { return config_; }
    const model::BoundPlan& plan() const { return plan_; }
    const model::Model& model() const { return *model_; }
    model::Parameters& parameters() { return parameters_; }
    const model::Parameters& parameters() const { return parameters_; }
    // These two throw InputError where run.phases has no train: then nothing of training is made.
    const runtime::DataLoaderOp& train_loader() const;
    const runtime::OptimizerOp& optimizer() const;
    const data::Tokenizer& tokenizer() const { return *tokenizer_; }
    const data::Splits& data() const { return data_; }
    const std::vector<model::Linear>& linears() const { return linears_; }
    const model::LoadedWeights& initial_weights() const { return weights_; }
    // What must not change between a checkpoint and its resumption, a line for each fact; whole after
    // load_data.
    const std::string& plan_text() const { return plan_text_; }
    // What really ran, loaders and optimizer included.
    std::vector<model::Executed> executed() const;

private:
    void read_initial_weights(const std::string& path);
    void load_adapter();
    device_graph::GraphMaker* graphs();
    LoaderParams params(bool training) const;
    LoaderParams shared_params() const;
    void check_shares() const;

    config::Config config_;
    std::string plan_text_;
    model::BoundPlan plan_;
    model::Parameters parameters_;
    std::vector<model::Linear> linears_;
    std::unique_ptr<model::Model> model_;
    std::optional<runtime::OptimizerOp> optimizer_;
    std::shared_ptr<const data::Tokenizer> tokenizer_;
    data::Splits data_;
    model::LoadedWeights weights_;
    std::optional<distributed::Mesh> mesh_;  // of the ranks that share the training
    std::optional<ModelParts> model_parts_;
    std::unique_ptr<device_graph::GraphMaker> graphs_;  // where a key asks for them
    // Last: their threads may read ahead, and samples are made with the tokenizer.
    std::optional<runtime::DataLoaderOp> train_loader_;
    runtime::DataLoaderOp eval_loader_;
};

}  // namespace switchyard::train
