#include "core/workbench/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/kernel/base/log.h"
#include "core/kernel/runtime/call_timer.h"
#include "core/workbench/train/library_generator.h"
#include "core/workbench/train/nonfinite.h"
#include "core/workbench/train/parameter_groups.h"
#include "core/workbench/train/step_parts.h"

namespace switchyard::train {
namespace {

EpochSizes epochs_of(const runtime::DataLoaderOp& loader) {
    return {[&loader](std::int64_t epoch) { return loader.batches(epoch); },
            loader.composition() == Composition::reference};
}

}  // namespace

Trainer::Trainer(const TrainingParts& parts)
    : parts_(parts),
      groups_(optimizer_groups(parts.config, parts.parameters)),
      schedule_(schedule_of(parts.config.train, epochs_of(parts.train_loader))),
      best_(parts.config.train) {
    if (parts.train_loader.batches(0) == 0) {
        throw std::invalid_argument(
            "the training data makes no batch: it has fewer samples than batch.size and "
            "data_loader.drop_last is set");
    }
    if (parts.mesh != nullptr)
        ranks_ = std::make_unique<DataParallel>(*parts.mesh, parts.config, parts.parameters);
    for (const auto& group : groups_) base_lr_.push_back(group.hyper.lr * rank_factor());
    divide_over_ranks();
    if (!shards_ && !part_step_) parts_.optimizer.bind(groups_);
    if (parts.config.train.ema > 0.0) average_.emplace(parts.config.train.ema, groups_);
    if (parts.graphs != nullptr) {
        graphed_ =
            std::make_unique<GraphedStep>(GraphedStep::Parts{parts.config, parts.plan, parts.model,
                                                             parts.parameters, parts.optimizer, groups_},
                                          *parts.graphs);
    }
    seed_generator(static_cast<std::uint64_t>(parts.config.run.seed));
    now_ = boundary();
}

Progression Trainer::boundary() const {
    Progression progression = now_;
    progression.loader = parts_.train_loader.position();
    progression.generator = generator_state();
    return progression;
}

void Trainer::restore(TrainingState state) {
    if (other_groups_)
        other_groups_->fit(groups_, parts_.parameters, parts_.optimizer, shards_ != nullptr, state);
    check_masters(groups_, state.masters);
    if (shards_)
        shards_->load(state.optimizer, state.masters);
    else
        parts_.optimizer.load(state.optimizer);
    leave_graphs();
    if (state.other_policy.empty()) parts_.plan.precision().load(state.precision);
    parts_.train_loader.seek(state.progression.loader);
    if (state.progression.generator.defined()) set_generator_state(state.progression.generator);
    for (auto& group : groups_) {
        for (auto& parameter : group.parameters) {
            if (parameter.master.defined()) parameter.master.copy_(state.masters.at(parameter.name));
        }
    }
    if (divided_) divided_->divide();
    if (average_) average_->set(state.average);
    now_ = state.progression;
    saved_step_ = now_.step;
    overflows_ = 0;
    restored_ = true;
}

void Trainer::remember(const std::vector<Evaluation>& evaluations) {
    best_.forget_all();
    for (const auto& evaluation : evaluations) best_.add(evaluation);
}

TrainingState Trainer::state() const {
    TrainingState state;
    state.progression = now_;
    state.optimizer = parts_.optimizer.state();
    state.precision = parts_.plan.precision().state();
    state.plan = parts_.plan_text;
    if (average_) state.average = average_->values();
    state.averaged = average_.has_value();
    if (shards_) state.masters = shards_->masters();
    for (const auto& group : groups_) {
        for (const auto& parameter : group.parameters) {
            if (parameter.master.defined()) state.masters[parameter.name] = parameter.master;
        }
    }
    return state;
}

double Trainer::accumulate(std::vector<Batch>& batches) { return *accumulate_until(batches, {}); }

std::optional<double> Trainer::accumulate_until(std::vector<Batch>& batches, const Stop& stop) {
    const auto& config = parts_.config;
    leave_graphs();
    if (ranks_) {
        shared_ = ranks_->agree({batches, repeated_, stop && stop(), save_is_due_by_time()});
        if (!shared_) return std::nullopt;
        seed_generator(ranks_->seed_of_step(now_.step));
    }
    const auto labels = ranks_ ? shared_->labels : labels_of(batches, config.loss.ignore_index);
    const auto loss = step_loss(config, static_cast<double>(std::max<std::int64_t>(1, labels)));
    model::ForwardContext context;
    context.phase = Phase::train;
    context.dropout_on = dropout_on_;
    context.run_seed = static_cast<std::uint64_t>(config.run.seed);
    context.step = static_cast<std::uint64_t>(now_.step);
    context.recompute = config.train.recompute;
    context.recompute_every = config.train.recompute_every;
    context.layers = divided_.get();
    context.ranks = parts_.model_parts != nullptr ? parts_.model_parts->tensor_ranks() : nullptr;
    if (divided_) divided_->begin_passes(true);

    const double scale = parts_.plan.precision().loss_scale();
    double mean = 0.0;
    std::int64_t document = 0;
    for (std::size_t i = 0; i < batches.size(); ++i) {
        auto& batch = batches[i];
        if (ranks_)
            document = shared_->first_documents[i];
        else if (stop && stop())
            return std::nullopt;
        batch.source.tokens.first_document = document;
        batch.target.tokens.first_document = document;
        document += sequences_of(batch);
        if (pipeline_) continue;
        const auto result = [&] {
            const runtime::TimedScope timed("forward");
            return parts_.model.task(context, batch, loss);
        }();
        mean += result.loss.loss.item<double>();
        const auto scaled = scale == 1.0 ? result.loss.loss : result.loss.loss.mul(scale);
        backward([&] { scaled.backward(); }, i + 1 == batches.size());
    }
    if (pipeline_)
        mean = pipeline_->run(context, batches, loss, scale,
                              [this](const auto& run, bool last) { backward(run, last); });
    if (divided_) divided_->end_passes();
    return ranks_ ? ranks_->sum(mean) : mean;
}

std::optional<double> Trainer::accumulate_shadowed(std::vector<Batch>& batches, const Stop& stop,
                                                   ShadowLines& lines) {
    if (shadow_ == nullptr || !shadow_->begin_step(now_.step + 1)) return accumulate_until(batches, stop);
    const auto loss = [&] {
        const runtime::ObserveOperations observing(*shadow_);
        return accumulate_until(batches, stop);
    }();
    lines = shadow_->end_step();
    return loss;
}

// Captured steps leave their gradients where the graphs write them, and hold on to the optimizer's tensors.
void Trainer::leave_graphs() {
    if (graphed_ == nullptr || !graphed_->captured()) return;
    graphed_->forget();
    drop_gradients();
}

void Trainer::drop_gradients() {
    train::drop_gradients(groups_);
    parts_.parameters.zero_gradients();
    if (divided_) divided_->drop_gradients();
}

std::vector<at::Tensor> Trainer::unscaled_gradients() const {
    const double scale = parts_.plan.precision().loss_scale();
    std::vector<at::Tensor> gradients;
    if (divided_)
        gradients = divided_->whole_gradients();
    else
        for (const auto& parameter : parts_.parameters.all()) gradients.push_back(parameter.value.grad());
    for (auto& gradient : gradients) {
        if (gradient.defined()) gradient = gradient.detach().to(at::kFloat).mul(1.0 / scale);
    }
    return gradients;
}

// The optimizer's part of a step, unless something is not finite.
void Trainer::update(StepReport& report) {
    const runtime::TimedScope timed("update");
    const auto& precision = parts_.plan.precision();
    const bool scaled = parts_.config.precision.loss_scaling.value_or(false);
    const bool skips = parts_.config.train.nonfinite == config::Nonfinite::skip;
    collect_gradients(groups_);
    for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].hyper.lr = base_lr_[i] * report.lr_factor;
    StepParams params;
    params.max_grad_norm = parts_.config.optimizer.max_grad_norm;
    params.grad_scale = precision.loss_scale();
    // No loss scale makes it so: the loss is scaled when it is known.
    report.nonfinite = nonfinite_loss(report.loss);
    // A step that clips, or takes a loss scale out, looks itself.
    const bool looks = scaled || params.max_grad_norm > 0.0;
    if (report.nonfinite.empty() && !looks) report.nonfinite = nonfinite_of_all();
    report.skipped = skips && !report.nonfinite.empty();
    if (!report.nonfinite.empty()) return precision.update(true);
    const auto result = step_of_all(params);
    const bool unchanged = result.found_inf.defined() && result.found_inf.item<float>() != 0.0F;
    if (result.grad_norm.defined()) report.grad_norm = result.grad_norm.item<double>();
    if (scaled) {
        report.skipped = unchanged;
        if (unchanged)
            doubt_scale(report);
        else
            overflows_ = 0;
    } else if (unchanged || !std::isfinite(report.grad_norm)) {
        report.nonfinite = nonfinite_of_all();
        report.skipped = skips && !report.nonfinite.empty();
    }
    precision.update(unchanged);
}

// Small gradients are scaled until some are Inf: that alone is no fault.
void Trainer::add_finding(StepReport& report) const {
    if (trace_ == nullptr) return;
    const auto finding = trace_->first();
    const bool scaled = report.skipped && report.nonfinite.empty();
    if (finding && (finding->forward || !scaled)) {
        report.nonfinite = finding->text;
        report.traced = true;
    } else if (!report.nonfinite.empty()) {
        report.nonfinite +=
            " (inputs, outputs and gradients of all operations are finite: it arose in a sum of gradients)";
        report.traced = true;
    }
}

StepReport Trainer::step(std::vector<Batch>& batches) { return *step_until(batches, {}); }

std::optional<StepReport> Trainer::step_until(std::vector<Batch>& batches, const Stop& stop) {
    if (graphed_ != nullptr && trace_ == nullptr && runtime::call_observer() == nullptr &&
        runtime::call_timer() == nullptr)
        return graphed_step(batches);
    const auto start = std::chrono::steady_clock::now();
    const auto& precision = parts_.plan.precision();
    StepReport report;
    report.lr_factor = schedule_.factor(now_.step);
    precision.begin_step();
    std::optional<runtime::ObserveCalls> tracing;
    if (trace_ != nullptr) {
        trace_->begin_step();
        tracing.emplace(*trace_);
    }
    const auto loss = accumulate_shadowed(batches, stop, report.shadow);
    if (!loss) {
        precision.end_step();
        drop_gradients();
        return std::nullopt;
    }
    report.loss = *loss;
    update(report);
    add_finding(report);
    precision.end_step();
    drop_gradients();
    return finished(std::move(report), batches, start);
}

// The same step, replayed. Whether something was not finite is known when it is done: the optimizer has then
// changed nothing if it clips, and else the run stops or goes back to a checkpoint.
StepReport Trainer::graphed_step(std::vector<Batch>& batches) {
    const auto start = std::chrono::steady_clock::now();
    StepReport report;
    report.lr_factor = schedule_.factor(now_.step);
    const auto labels = labels_of(batches, parts_.config.loss.ignore_index);
    const auto made = graphed_->run(batches, labels, report.lr_factor);
    report.loss = made.loss;
    report.grad_norm = made.grad_norm;
    report.graphs = graphed_->counts();
    report.nonfinite = nonfinite_loss(report.loss);
    // As where steps are not captured: one that clips looks itself.
    const bool looked = parts_.config.optimizer.max_grad_norm > 0.0;
    const bool unchanged = made.skipped || (looked && !std::isfinite(made.grad_norm));
    if (report.nonfinite.empty() && (unchanged || !looked)) {
        collect_gradients(groups_);
        report.nonfinite = nonfinite_gradients(groups_);
    }
    const bool skips = parts_.config.train.nonfinite == config::Nonfinite::skip;
    report.skipped = skips && unchanged && !report.nonfinite.empty();
    parts_.plan.precision().update(!report.nonfinite.empty());
    return finished(std::move(report), batches, start);
}

// Counts a step.
StepReport Trainer::finished(StepReport report, const std::vector<Batch>& batches,
                             std::chrono::steady_clock::time_point start) {
    const auto step = ranks_ ? *shared_ : amounts_of(batches, parts_.config.loss.ignore_index);
    report.samples = step.samples;
    report.tokens = step.tokens;
    report.work = step.work;
    if (average_ && !report.skipped && report.nonfinite.empty()) average_->update();
    ++now_.step;
    now_.samples += report.samples;
    now_.tokens += report.tokens;
    now_.skipped_steps += report.skipped ? 1 : 0;
    now_.nonfinite_steps += report.nonfinite.empty() ? 0 : 1;
    report.step = now_.step;
    report.total_steps = schedule_.total_steps;
    report.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return report;
}

std::vector<Batch> Trainer::next_group(const Stop& stop) {
    const runtime::TimedScope timed("data");
    std::vector<Batch> group;
    repeated_ = 0;
    while (static_cast<std::int64_t>(group.size()) < parts_.config.train.grad_accumulation_steps) {
        if (!ranks_ && stop && stop()) return {};  // ranks stop together, before a step
        Batch batch;
        if (parts_.train_loader.next(batch)) {
            const auto repeated = parts_.train_loader.last_repeated();
            ignore_last(batch, repeated, parts_.config.loss.ignore_index);
            repeated_ += repeated;
            group.push_back(std::move(batch));
        } else if (!group.empty())
            break;
    }
    return group;
}

bool Trainer::due(std::int64_t every) const {
    return now_.step == schedule_.total_steps || (every > 0 && now_.step % every == 0);
}

// False: stopped, or, with an error, not written down.
EvalResult Trainer::evaluate(const TrainerHooks& hooks) {
    std::optional<WeightAverage::Shown> shown;
    if (average_) shown.emplace(*average_);
    auto result = train::evaluate(
        parts_.config, parts_.plan, parts_.model, *parts_.eval_loader,
        {hooks.on_eval_progress, hooks.stop, parts_.scale, parts_.mesh, parts_.first_eval_sample,
         divided_.get(), parts_.model_parts != nullptr ? parts_.model_parts->tensor_ranks() : nullptr,
         pipeline_.get()});
    if (!result.complete || !hooks.more_scores) return result;
    if (divided_) divided_->gather_all();
    const auto more = hooks.more_scores();
    if (divided_) divided_->divide();
    result.complete = more.has_value();
    if (more) result.metrics.insert(result.metrics.end(), more->begin(), more->end());
    return result;
}

bool Trainer::evaluate_now(const TrainerHooks& hooks, TrainingResult& result) {
    if (parts_.eval_loader == nullptr) return true;
    result.eval = evaluate(hooks);
    if (!result.eval.complete) return false;
    if (hooks.on_eval && !written_down(hooks.on_eval(now_.step, result.eval), hooks, result)) return false;
    return keep_if_best(hooks, result);
}

// Once: what is missing in one evaluation is, most likely, missing in all.
void Trainer::tell_undefined() {
    if (std::exchange(told_undefined_, true) || (ranks_ && !ranks_->is_first())) return;
    log::warning("train.keep_best: the evaluation of step " + std::to_string(now_.step) + " has no " +
                 parts_.config.train.keep_best +
                 ", for its data have nothing to tell it of or it is not finite: it cannot be the best");
}

// False, with an error, where it is the best and could not be kept.
bool Trainer::keep_if_best(const TrainerHooks& hooks, TrainingResult& result) {
    if (best_.metric().empty()) return true;
    const auto value = metric_of(result.eval, best_.metric());
    if (!value) tell_undefined();
    if (!best_.add({now_.step, value})) return true;
    if (!save_once(hooks, result)) return false;
    if (hooks.on_best) result.error = hooks.on_best(*best_.best());
    if (ranks_) result.error = ranks_->from_first("best", result.error);
    return result.error.empty();
}

bool Trainer::save_is_due() const {
    if (due(parts_.config.train.checkpoint_every)) return true;
    return ranks_ ? shared_ && shared_->save_is_due : save_is_due_by_time();
}

bool Trainer::save_is_due_by_time() const {
    const double minutes = parts_.config.train.checkpoint_minutes;
    const std::chrono::duration<double, std::ratio<60>> since = std::chrono::steady_clock::now() - saved_;
    return minutes > 0.0 && since.count() >= minutes;
}

bool Trainer::save_now(const TrainerHooks& hooks, TrainingResult& result) {
    if (!ranks_ && !hooks.save) return true;
    if (saves_together()) {
        const auto own = written();
        if (hooks.save) result.error = hooks.save(own.state, own.parameters);
        if (divided_) divided_->divide();
    } else if (hooks.save) {
        result.error = hooks.save(state(), parts_.parameters);
    }
    if (ranks_) result.error = ranks_->from_first("saved", result.error);
    saved_ = std::chrono::steady_clock::now();
    if (result.error.empty()) saved_step_ = now_.step;
    return result.error.empty();
}

bool Trainer::save_once(const TrainerHooks& hooks, TrainingResult& result) {
    return saved_step_ == now_.step || save_now(hooks, result);
}

// False where there was an error; what was learnt since the last checkpoint is then saved, if that can still
// be written.
bool Trainer::written_down(const std::string& error, const TrainerHooks& hooks, TrainingResult& result) {
    if (error.empty()) return true;
    // Other ranks know nothing of it yet: they learn it when this one ends.
    if (saves_together())
        result.error = "the optimizer's state is divided over ranks";
    else if (hooks.save)
        result.error = hooks.save(state(), parts_.parameters);
    const bool saved = result.error.empty();
    if (saved) saved_step_ = now_.step;
    const auto step = std::to_string(now_.step);
    result.error =
        error + (saved ? "; a checkpoint of step " + step + " was saved"
                       : "; nor could a checkpoint of step " + step + " be saved: " + result.error);
    return false;
}

TrainingResult Trainer::run(const TrainerHooks& hooks) {
    TrainingResult result;
    const auto end = [&](Outcome outcome) {
        result.outcome = result.error.empty() ? outcome : Outcome::failed;
        result.progression = now_;
        result.best = best_.best();
        if (graphed_ != nullptr) result.graphs = graphed_->counts();
        if (ranks_) result.communication = ranks_->communication();
        return std::move(result);
    };
    if (evaluates_first()) {
        best_.forget_from(now_.step);
        if (!evaluate_now(hooks, result)) return end(Outcome::stopped);
    }
    const bool rewinds = parts_.config.train.nonfinite == config::Nonfinite::rewind;
    if (rewinds && now_.step == 0 && !save_now(hooks, result)) return end(Outcome::failed);
    std::vector<Batch> group;
    while (!at_end()) {
        std::optional<StepReport> done;
        group.clear();  // before the next are made
        const auto loaded = parts_.train_loader.stats();
        group = next_group(hooks.stop);
        if (!group.empty()) done = step_until(group, hooks.stop);
        if (!done) return end(save_now(hooks, result) ? Outcome::stopped : Outcome::failed);
        auto& report = *done;
        report.loader = parts_.train_loader.stats() - loaded;
        now_ = boundary();
        report.epoch = static_cast<double>(now_.loader.epoch) +
                       static_cast<double>(now_.loader.batch) /
                           static_cast<double>(parts_.train_loader.batches(now_.loader.epoch));
        result.steps.push_back(report);
        if (hooks.on_step && !written_down(hooks.on_step(report), hooks, result)) return end(Outcome::failed);
        if (!report.nonfinite.empty()) {
            if (!survives(report, hooks, result)) return end(Outcome::failed);
            if (!report.skipped) continue;
        }
        const bool last = now_.step == schedule_.total_steps;
        if (save_is_due() && !save_now(hooks, result)) return end(Outcome::failed);
        if (due(parts_.config.train.eval_every) && !evaluate_now(hooks, result)) {
            if (!last && result.error.empty()) save_now(hooks, result);
            return end(Outcome::stopped);
        }
    }
    if (!result.eval.complete && !evaluate_now(hooks, result)) return end(Outcome::stopped);
    result.stopped_early = now_.step < schedule_.total_steps;
    if (result.stopped_early && !save_once(hooks, result)) return end(Outcome::failed);
    if (average_) average_->keep();
    if (divided_) divided_->gather_all();
    if (auto* const parts = parts_.model_parts)
        result.whole = std::make_shared<const model::Parameters>(parts->whole());
    return end(Outcome::finished);
}

}  // namespace switchyard::train
