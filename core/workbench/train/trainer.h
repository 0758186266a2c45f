// The training loop: optimizer steps over micro-batches, evaluation, checkpoints, a clean stop.
//
// Where a loss or a gradient is not finite nothing is changed and train.nonfinite decides: the run stops; or
// the step counts and its batches are left out; or everything goes back to the last checkpoint, bit for bit
// as a resumption does, but for the data, which go on after the batches that did it. A step that a loss scale
// skips is its own affair, as long as the loss is finite and a smaller scale may help.
//
// One step takes `grad_accumulation_steps` batches (fewer at the end of an epoch) and equals one step over
// all of them in one batch: each micro-batch's loss is a sum divided by the labels of the whole step, and
// dropout knows a sequence by its number in the step, not in the micro-batch. With several ranks it takes the
// batches of all of them (data_parallel.h); they stop, save and evaluate together, and the first one writes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/kernel/runtime/operations/data_loader_op.h"
#include "core/kernel/runtime/operations/optimizer_op.h"
#include "core/workbench/model/bound_plan.h"
#include "core/workbench/model/model.h"
#include "core/workbench/model/parameters.h"
#include "core/workbench/model/work.h"
#include "core/workbench/train/best_so_far.h"
#include "core/workbench/train/checkpoint.h"
#include "core/workbench/train/data_parallel.h"
#include "core/workbench/train/evaluate.h"
#include "core/workbench/train/graph/graphed_step.h"
#include "core/workbench/train/model_parts.h"
#include "core/workbench/train/nonfinite_trace.h"
#include "core/workbench/train/optimizer_parts.h"
#include "core/workbench/train/optimizer_shards.h"
#include "core/workbench/train/other_groups.h"
#include "core/workbench/train/parameter_shards.h"
#include "core/workbench/train/pipeline_step.h"
#include "core/workbench/train/schedule.h"
#include "core/workbench/train/shadow/shadow.h"
#include "core/workbench/train/training_state.h"
#include "core/workbench/train/weight_average.h"

namespace switchyard::train {

// What a trainer works with; all of it outlives the trainer.
struct TrainingParts {
    const config::Config& config;
    const model::BoundPlan& plan;
    const model::Model& model;
    model::Parameters& parameters;
    const runtime::OptimizerOp& optimizer;
    const runtime::DataLoaderOp& train_loader;  // started
    const runtime::DataLoaderOp* eval_loader = nullptr;
    std::string plan_text;                       // TrainingState::plan
    device_graph::GraphMaker* graphs = nullptr;  // captures whole steps; nullptr: none are
    data::LabelScale scale = {};                 // of a regression's labels
    distributed::Mesh* mesh = nullptr;           // of the ranks that share each step; nullptr: none do
    ModelParts* model_parts = nullptr;           // where ranks have a part of the model each
    std::int64_t first_eval_sample = 0;          // that the loader for evaluation gives, of all
};

// After each optimizer step.
struct StepReport {
    std::int64_t step = 0;  // done, from 1
    std::int64_t total_steps = 0;
    double epoch = 0.0;
    double loss = 0.0;        // mean over the step's labels
    double lr_factor = 1.0;   // of the schedule
    double grad_norm = -1.0;  // before clipping; < 0: not measured
    bool skipped = false;     // something was not finite: nothing was changed, and training goes on
    bool traced = false;      // `nonfinite` names the operation
    std::string
        nonfinite;  // what was not finite, where train.nonfinite says what follows; nothing was changed
    std::int64_t samples = 0;          // of this step
    std::int64_t tokens = 0;           // real ones
    model::Work work;                  // what its batches gave the model to do
    double milliseconds = 0.0;         // without the wait for its batches
    runtime::LoaderStats loader;       // of this step's batches
    device_graph::GraphCounts graphs;  // of this process, so far
    ShadowLines shadow;                // of slots whose shadow had its turn; its time is in `milliseconds`
};

// Back to a checkpoint, as train.nonfinite = "rewind" does.
struct Rewind {
    std::int64_t from = 0;  // the step in which something was not finite
    std::int64_t to = 0;    // steps done at the checkpoint
    std::string what;       // was not finite
};

enum class Outcome : std::uint8_t { finished, stopped, failed };

struct TrainingResult {
    Outcome outcome = Outcome::finished;
    std::string error;            // failed: what and where
    bool numerics = false;        // failed, for something was not finite
    std::vector<Rewind> rewinds;  // of this process
    Progression progression;
    std::vector<StepReport> steps;        // of this process
    EvalResult eval;                      // the last one
    std::optional<BestSoFar::Best> best;  // by train.keep_best, of all processes
    bool stopped_early = false;           // finished before its last step, as train.patience says
    device_graph::GraphCounts graphs;     // of this process
    std::optional<distributed::Communication> communication;  // of this rank, where there are several
    // Of a model of which ranks have parts all of it, where it has finished; nullptr: parameters are whole.
    std::shared_ptr<const model::Parameters> whole;
};

struct TrainerHooks {
    // What writes down what happened. A text is an error: then a checkpoint is saved if one can be, and
    // training stops.
    std::function<std::string(const StepReport&)> on_step;
    std::function<std::string(std::int64_t step, const EvalResult&)> on_eval;
    std::function<std::string(const Rewind&)> on_rewind;
    std::function<void(std::int64_t done, std::int64_t total)> on_eval_progress;
    // More scores of the weights as they are evaluated; nullopt: asked to stop. May be empty.
    std::function<std::optional<score::Metrics>()> more_scores;
    // Saves a checkpoint, with all parameters; a text is an error, after which training stops. Where ranks
    // write one together it is called on all of them, each with what it writes, and calls Trainer::save.
    std::function<std::string(const TrainingState&, const model::Parameters&)> save;
    // The checkpoint of this evaluation, which is saved, is the best now.
    std::function<std::string(const BestSoFar::Best&)> on_best;
    // Sets the parameters from the newest checkpoint and gives the rest of it.
    std::function<LoadedCheckpoint()> reload;
    std::function<bool()> stop;  // looked at between micro-batches and between evaluation batches
};

class Trainer {
public:
    using Stop = std::function<bool()>;

    explicit Trainer(const TrainingParts& parts);

    std::int64_t total_steps() const { return schedule_.total_steps; }
    // optimizer.lr with what distributed.lr_scaling makes of it, without StepReport::lr_factor and those of
    // groups.
    double learning_rate() const { return parts_.config.optimizer.lr * rank_factor(); }

    // Puts everything but the parameters back to where a checkpoint was taken. Throws std::invalid_argument,
    // or PluginError, for a state that does not fit.
    void restore(TrainingState state);
    // States may have been saved under other [[group]]s: before the first `restore`.
    void accept_other_groups() { other_groups_.emplace(); }
    // The evaluations of the run up to there, in the order of their steps.
    void remember(const std::vector<Evaluation>& evaluations);
    const BestSoFar& best() const { return best_; }
    // A checkpoint is saved before the evaluation of its step: one that was due there is made (again) by
    // `run`.
    bool evaluates_first() const {
        return restored_ && now_.step > 0 && (due(parts_.config.train.eval_every) || best_.out_of_patience());
    }
    // With distributed.shard, or of a part of a model, of this rank's part alone, which is no checkpoint.
    TrainingState state() const;
    bool is_sharded() const { return shards_ != nullptr; }
    // Whether ranks have parts of what is saved, and write it together.
    bool saves_together() const { return shards_ || part_step_; }
    // In the hook `save`, of what that was given: a checkpoint below `folder`, on all ranks that write it
    // together. A text is an error.
    std::string save(const std::string& folder, const TrainingState& state,
                     const model::Parameters& parameters);
    // Of parameters and gradients that are divided; nullopt: this process has all of them.
    std::optional<ParameterShards::Kept> kept() const {
        return divided_ ? std::optional(divided_->kept()) : std::nullopt;
    }

    // Of ranks that have ranges of the layers; nullptr: this process has all.
    PipelineStep* pipeline() const { return pipeline_.get(); }

    // With train.ema the parameters are the average of the weights when it has finished. Where ranks divide
    // them, they are whole then, and have no values where it has not.
    TrainingResult run(const TrainerHooks& hooks);

    // Of the weights as they are, or with train.ema of their average, on the loader for evaluation, which
    // there must be; incomplete: asked to stop. On all ranks.
    EvalResult evaluate(const TrainerHooks& hooks = {});

    // Off: batches are learnt by heart, as `check` does.
    void set_dropout(bool on) { dropout_on_ = on; }

    // Every step from now on is traced, none is replayed from a graph; nullptr: none. A finding ends `run`,
    // but where a loss scale answers for it. The trace outlives the trainer.
    void set_trace(NonfiniteTrace* trace) { trace_ = trace; }

    // Runs beside the steps from now on, of a process that trains alone and captures none; it outlives the
    // trainer. A trace would take a candidate's calls for training's own. nullptr: none.
    void set_shadow(Shadow* shadow) { shadow_ = shadow; }

    // The batches of the next step, never of two epochs: the last of an epoch may be fewer. None: asked to
    // stop.
    std::vector<Batch> next_group(const Stop& stop = {});
    // One step over these batches: forward, backward, optimizer. For `check` and benchmarks too.
    StepReport step(std::vector<Batch>& batches);
    // Forward and backward only, gradients left in the parameters; the mean loss.
    double accumulate(std::vector<Batch>& batches);
    // What accumulate left, of all parameters in their order: float32 copies without the loss scale,
    // undefined where there is none. Where ranks divide parameters on all of them.
    std::vector<at::Tensor> unscaled_gradients() const;
    // That there are none, wherever they are kept.
    void drop_gradients();

private:
    // nullopt: asked to stop between two micro-batches; then nothing was changed.
    std::optional<StepReport> step_until(std::vector<Batch>& batches, const Stop& stop);
    std::optional<double> accumulate_until(std::vector<Batch>& batches, const Stop& stop);
    std::optional<double> accumulate_shadowed(std::vector<Batch>& batches, const Stop& stop,
                                              ShadowLines& lines);
    Progression boundary() const;
    double rank_factor() const { return ranks_ ? ranks_->lr_factor() : 1.0; }
    struct Written {
        TrainingState state;
        model::Parameters parameters;
    };
    Written written();
    CheckpointPart checkpoint_part() const;
    StepReport graphed_step(std::vector<Batch>& batches);
    StepReport finished(StepReport report, const std::vector<Batch>& batches,
                        std::chrono::steady_clock::time_point start);
    void leave_graphs();
    void divide_over_ranks();
    void backward(const std::function<void()>& run, bool last);
    StepResult step_of_all(const StepParams& params);
    std::string nonfinite_of_all();
    bool due(std::int64_t every) const;
    bool evaluate_now(const TrainerHooks& hooks, TrainingResult& result);
    bool keep_if_best(const TrainerHooks& hooks, TrainingResult& result);
    void tell_undefined();
    bool at_end() const { return now_.step >= schedule_.total_steps || best_.out_of_patience(); }
    bool save_is_due() const;
    bool save_is_due_by_time() const;
    bool save_now(const TrainerHooks& hooks, TrainingResult& result);
    bool save_once(const TrainerHooks& hooks, TrainingResult& result);
    bool written_down(const std::string& error, const TrainerHooks& hooks, TrainingResult& result);
    void update(StepReport& report);
    void doubt_scale(StepReport& report);
    void add_finding(StepReport& report) const;
    bool survives(const StepReport& report, const TrainerHooks& hooks, TrainingResult& result);
    std::string rewind(const StepReport& report, const TrainerHooks& hooks, TrainingResult& result);

    TrainingParts parts_;
    std::vector<ParameterGroup> groups_;
    std::vector<double> base_lr_;
    Schedule schedule_;
    bool dropout_on_ = true;
    NonfiniteTrace* trace_ = nullptr;
    Shadow* shadow_ = nullptr;
    bool restored_ = false;
    std::optional<OtherGroups> other_groups_;    // where states of others are restored
    std::unique_ptr<DataParallel> ranks_;        // nullptr: this process trains alone
    std::unique_ptr<ParameterShards> divided_;   // nullptr: this process has all parameters
    std::unique_ptr<OptimizerShards> shards_;    // nullptr: this process steps all of them
    std::unique_ptr<OptimizerParts> part_step_;  // nullptr: a model is whole, or shards_ steps its part
    std::unique_ptr<PipelineStep> pipeline_;     // nullptr: it has all layers
    std::optional<SharedStep> shared_;           // the last one, of ranks
    std::int64_t repeated_ = 0;                  // samples of the next step that only fill up its batches
    std::unique_ptr<GraphedStep> graphed_;       // nullptr: steps are not captured
    std::optional<WeightAverage> average_;       // where train.ema asks for one
    Progression now_;                            // at the last boundary between two steps
    BestSoFar best_;
    bool told_undefined_ = false;   // that an evaluation lacked its metric
    std::int64_t saved_step_ = -1;  // of which there is a checkpoint
    std::int64_t saves_ = 0;        // together with other ranks
    std::int64_t overflows_ = 0;    // steps in a row, up to the last one, that the loss scale has skipped
    double lowest_scale_ = 0.0;     // of those steps
    std::int64_t at_lowest_ = 0;    // how many of them had it
    std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();
};

}  // namespace switchyard::train
