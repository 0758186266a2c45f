#include "core/workbench/compare/arms/training_arm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "core/workbench/compare/arms/drawn_samples.h"
#include "core/workbench/compare/arms/first_step_file.h"
#include "core/workbench/compare/arms/random_samples.h"
#include "core/workbench/profile/memory_step.h"

namespace switchyard::compare {
namespace {

constexpr std::int64_t random_steps = 64;      // before the random samples come again
constexpr std::size_t points_of_memory = 198;  // and the first and the last, over a step

// The rows of all ranks, in their order: as a batch is cut into their parts.
at::Tensor of_all_ranks(distributed::Group& group, const at::Tensor& rows) {
    const auto counts = group.gather(at::full({1}, rows.size(0), at::kLong));
    std::int64_t most = 0;
    for (const auto& count : counts) most = std::max(most, count.item<std::int64_t>());
    auto padded = at::zeros({most, rows.size(1)}, rows.options());
    padded.narrow(0, 0, rows.size(0)).copy_(rows);
    auto parts = group.gather(padded);
    for (std::size_t rank = 0; rank < parts.size(); ++rank)
        parts[rank] = parts[rank].narrow(0, 0, counts[rank].item<std::int64_t>());
    return at::cat(parts);
}

// The logits that the last stage has; undefined, as there, where a loss projects by itself.
at::Tensor of_last_stage(distributed::Group& stages, const at::Tensor& logits) {
    const auto last = stages.world_size() - 1;
    auto sizes = at::zeros({2}, at::kLong);
    if (logits.defined()) sizes = at::tensor(logits.sizes(), at::kLong);
    stages.broadcast(sizes, last);
    const auto rows = sizes[0].item<std::int64_t>(), columns = sizes[1].item<std::int64_t>();
    if (columns == 0) return {};
    auto all = logits.defined() ? logits.to(at::kFloat).contiguous() : at::empty({rows, columns}, at::kFloat);
    stages.broadcast(all, last);
    return all;
}

}  // namespace

TrainingArm::TrainingArm(const config::Config& config, const resolver::Plan& plan,
                         runtime::Registry& registry, const HostInfo& host, const ArmServerOptions& options)
    : ArmServer(config, plan, registry, host, options), trainer_(make_trainer()) {
    do kept_.push_back(trainer_.next_group());
    while (static_cast<std::int64_t>(kept_.size()) < options_.cycle);
}

train::Trainer TrainingArm::make_trainer() {
    const auto& config = session_.config();
    if (options_.operation == Operation::epoch) {
        if (config.data_loader.drop_last)
            throw train::InputError(
                {"data_loader.drop_last leaves samples out of an epoch, which has the same samples in all "
                 "arms; "
                 "expected data_loader.drop_last = false"});
        auto samples = std::make_shared<data::SampleList>(drawn_samples(session_, options_));
        epoch_samples_ = samples->size();
        return session_.make_trainer(std::move(samples));
    }
    if (config.data.given()) {
        if (options_.eval_samples > 0)
            session_.evaluate_on(held_out_samples(session_.data().eval, options_.eval_samples));
        return session_.make_trainer();
    }
    const auto& batch = config.batch;
    const auto a_batch =
        batch.tokens > 0 ? std::min(batch.size, batch.most_tokens() / batch.max_length * 2) : batch.size;
    const auto a_step = a_batch * config.train.grad_accumulation_steps;
    return session_.make_trainer(std::make_shared<data::SampleList>(
        random_samples(config, random_steps * a_step * session_.data_ranks(), options_.lengths,
                       static_cast<std::uint64_t>(config.run.seed))));
}

// Of ranks each would tell of its part; and a step that is replayed from a graph has no operators.
bool TrainingArm::observes() const {
    return options_.group == nullptr && !session_.config().train.cuda_graph;
}

profile::ObservedStep TrainingArm::observe() {
    return profile::observed(profile::memory_step(session_, trainer_, next_group()), points_of_memory);
}

std::string TrainingArm::not_evaluated() const {
    const auto& config = session_.config();
    if (options_.operation != Operation::step) return "passes over samples are not followed by an evaluation";
    if (!config.data.given()) return "the job has no data, and random tokens have nothing to be learnt";
    if (session_.data().eval->size() == 0)
        return "the job holds no samples out for it: data.eval names no file, data.eval_fraction is 0";
    return "";
}

Evaluation TrainingArm::evaluate() {
    if (const auto why = not_evaluated(); !why.empty()) throw std::runtime_error("not evaluated: " + why);
    const auto found = trainer_.evaluate();
    return {found.samples, found.labels, found.hits.value_or(-1), found.loss};
}

// Of ranks each has its part of the samples.
ArmServer::Group TrainingArm::evaluation_batches() {
    Group batches;
    if (options_.eval_samples == 0 || options_.group != nullptr || !not_evaluated().empty()) return batches;
    const auto& loader = session_.start_eval_loader(session_.data().eval);
    for (Batch batch; loader.next(batch);) batches.push_back(batch);
    return batches;
}

ArmServer::Group TrainingArm::next_group() {
    if (next_ < kept_.size() || options_.cycle > 0) return kept_[next_++ % kept_.size()];
    ++next_;
    return trainer_.next_group();
}

// Of the rows with a label; undefined where another stage has them.
at::Tensor TrainingArm::first_logits(const model::ForwardContext& context, const Batch& batch,
                                     const LossParams& loss) {
    const auto& model = session_.model();
    auto* const stages = trainer_.pipeline();
    const auto hidden =
        stages != nullptr ? stages->hidden(context, batch) : model.run({}, context, batch).hidden;
    if (stages != nullptr) stages->end_forwards();
    if (!hidden.defined()) return {};
    auto result = model.task_of(context, batch, hidden, loss);
    // Where ranks have the logits of some words each, the loss needs no others.
    if (context.ranks != nullptr && !result.logits.defined() && !session_.config().loss.projection)
        result = {.loss = {},
                  .logits = model.logits_of(context, batch, hidden),
                  .targets = batch.labels.reshape({-1})};
    return labelled_logits(session_.config(), result);
}

ArmServer::First TrainingArm::first() {
    auto& group = kept_.front();
    const auto& precision = session_.plan().precision();
    First first;
    trainer_.set_dropout(false);
    precision.begin_step();
    {
        const c10::NoGradGuard no_gradients;
        model::ForwardContext context;
        context.phase = Phase::train;
        context.dropout_on = false;
        LossParams loss;
        loss.loss = session_.config().loss_kind();
        loss.ignore_index = session_.config().loss.ignore_index;
        auto* const parts = session_.model_parts();
        context.ranks = parts != nullptr ? parts->tensor_ranks() : nullptr;
        first.logits = first_logits(context, group.front(), loss);
    }
    if (const auto* const mesh = session_.mesh()) {
        if (mesh->pipeline() != nullptr) first.logits = of_last_stage(*mesh->pipeline(), first.logits);
        if (mesh->data() != nullptr) first.logits = of_all_ranks(*mesh->data(), first.logits);
    }
    first.loss = trainer_.accumulate(group);
    first.gradients = trainer_.unscaled_gradients();
    if (const auto* const parts = session_.model_parts()) first.gradients = parts->whole(first.gradients);
    precision.end_step();
    trainer_.drop_gradients();
    trainer_.set_dropout(true);
    return first;
}

namespace {

// The loss that is told of a step; NaN: training has ended with it.
double told_loss(const train::StepReport& report) {
    // A step that was skipped has done what it should with what was not finite.
    if (report.skipped) return std::isfinite(report.loss) ? report.loss : 0.0;
    return report.nonfinite.empty() ? report.loss : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void TrainingArm::run_one(Turn& turn) {
    if (options_.operation == Operation::epoch) return run_epoch(turn);
    auto group = next_group();
    const auto report = trainer_.step(group);
    turn.skipped += report.skipped ? 1 : 0;
    turn.step_skipped.push_back(report.skipped ? 1 : 0);
    turn.loss.push_back(told_loss(report));
    turn.step_samples.push_back(report.samples);
    turn.step_tokens.push_back(report.tokens);
}

// Steps until all samples have had their turn: the loader's epoch ends with the last one.
void TrainingArm::run_epoch(Turn& turn) {
    std::int64_t samples = 0, tokens = 0, steps = 0, skipped = 0;
    double loss = 0.0;
    while (samples < epoch_samples_) {
        auto group = next_group();
        const auto report = trainer_.step(group);
        loss += told_loss(report);
        samples += report.samples;
        tokens += report.tokens;
        skipped += report.skipped ? 1 : 0;
        ++steps;
    }
    turn.skipped += skipped;
    turn.step_skipped.push_back(skipped > 0 ? 1 : 0);
    turn.loss.push_back(loss / static_cast<double>(steps));
    turn.step_samples.push_back(samples);
    turn.step_tokens.push_back(tokens);
}

}  // namespace switchyard::compare
