// Where ranks share a training: what a trainer does with them, and alone where there are none.
#include <utility>

#include "core/kernel/runtime/call_timer.h"
#include "core/workbench/train/nonfinite.h"
#include "core/workbench/train/trainer.h"

namespace switchyard::train {

// What distributed.shard and distributed.mesh say.
void Trainer::divide_over_ranks() {
    const auto* const model = parts_.model_parts;
    if (parts_.mesh != nullptr && parts_.mesh->pipeline() != nullptr)
        pipeline_ = std::make_unique<PipelineStep>(*parts_.model_parts, parts_.config, parts_.model,
                                                   parts_.parameters);
    const auto shard = parts_.config.distributed.shard;
    distributed::Group* ranks = nullptr;  // that have the same parameters, or the same part of them
    if (ranks_) ranks = model == nullptr ? &parts_.mesh->world() : parts_.mesh->data();
    if (shard == config::Sharding::none || ranks == nullptr) {
        if (model != nullptr)
            part_step_ = std::make_unique<OptimizerParts>(*model, parts_.config, parts_.optimizer, groups_);
        return;
    }
    if (shard == config::Sharding::full)
        divided_ = std::make_unique<ParameterShards>(*ranks, parts_.config, parts_.parameters,
                                                     parts_.optimizer.part_alignment().value_or(0),
                                                     parts_.plan.precision().weights());
    shards_ = std::make_unique<OptimizerShards>(*ranks, parts_.config, parts_.optimizer, groups_,
                                                divided_.get(), model);
}

// On all ranks, where they have parts; what the first one saves.
TrainingState Trainer::whole_state() {
    // First, as long as no rank waits for those whose state comes before its own. Ranks that have parts of a
    // model put it together next, each with its own.
    if (divided_) divided_->gather_all(ranks_->is_first() || parts_.model_parts != nullptr);
    auto state = this->state();
    if (shards_) {
        state.optimizer = shards_->gather_state();
        state.masters = shards_->gather_masters();
    }
    if (auto* const parts = parts_.model_parts) {
        // Some ranks gather what others have no part in, and are not waited for as long in what comes next.
        ranks_->from_first("gathered", "");
        state = parts->whole(std::move(state), ranks_->is_first());
        ranks_->from_first("put together", "");
    }
    return state;
}

void Trainer::backward(const std::function<void()>& run, bool last) {
    const runtime::TimedScope timed("backward");
    if (!ranks_) return run();
    try {
        if (divided_)
            divided_->backward(run, last);
        else
            ranks_->backward(run, last);
        if (last && parts_.model_parts != nullptr) parts_.model_parts->sum_partial_gradients();
    } catch (const std::exception& error) {
        if (parts_.model_parts != nullptr && parts_.model_parts->lost())
            throw distributed::RankLost(error.what());
        throw;
    }
}

std::string Trainer::nonfinite_of_all() {
    if (part_step_) return part_step_->nonfinite(groups_);
    return shards_ ? shards_->nonfinite(groups_) : nonfinite_gradients(groups_);
}

StepResult Trainer::step_of_all(const StepParams& params) {
    if (part_step_) return part_step_->step(groups_, params);
    return shards_ ? shards_->step(groups_, params) : parts_.optimizer.step(groups_, params);
}

}  // namespace switchyard::train
