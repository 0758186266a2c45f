// Where ranks share a training: what a trainer does with them, and alone where there are none.
#include <map>
#include <utility>
#include <vector>

#include "core/kernel/runtime/call_timer.h"
#include "core/workbench/train/checkpoint.h"
#include "core/workbench/train/nonfinite.h"
#include "core/workbench/train/save_together.h"
#include "core/workbench/train/shard_layout.h"
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

CheckpointPart Trainer::checkpoint_part() const {
    if (parts_.model_parts != nullptr) return parts_.model_parts->checkpoint_part();
    const auto place = parts_.mesh->world().place();
    return {place.rank, place.world_size};
}

std::string Trainer::save(const std::string& folder, const TrainingState& state,
                          const model::Parameters& parameters) {
    const auto keep = parts_.config.train.keep_last;
    if (saves_together())
        return save_together(parts_.mesh->world(), ++saves_, folder, checkpoint_part(), state, parameters,
                             keep);
    return save_checkpoint(folder, state, parameters, keep).value_or("");
}

// On all ranks, where they have parts of what is saved: what this one writes. Of parameters that all have, or
// that are divided, each is written by the rank that has least to write.
Trainer::Written Trainer::written() {
    auto* const model = parts_.model_parts;
    std::map<std::string, std::int64_t> writers;
    if (model == nullptr) {
        std::vector<std::int64_t> sizes;
        for (const auto& parameter : parts_.parameters.all()) sizes.push_back(parameter.value.numel());
        for (const auto& shard : train::divide_over_ranks(sizes, parts_.mesh->world().world_size(), 0))
            writers[parts_.parameters.all()[shard.parameter].name] = shard.rank;
    }
    const auto rank = parts_.mesh->world().rank();
    const auto writes = [&](const std::string& name) { return writers.at(name) == rank; };
    // Of ranks that have parts of a model the first of those that have the same part.
    const EntryReceiver to = [&](const std::string& name) { return model == nullptr ? writers.at(name) : 0; };
    auto state = this->state();
    if (rank != 0) state.progression.generator.reset();  // the first rank's is written
    if (shards_) {
        state.optimizer = shards_->gather_state(to);
        state.masters = shards_->gather_masters(to);
    }
    if (model != nullptr) {
        if (divided_) divided_->gather_all();
        // Some ranks gather what others have no part in, and are not waited for as long in what comes next.
        ranks_->from_first("gathered", "");
        return {model->written(std::move(state)), model->written_parameters()};
    }
    Written result{std::move(state), {}};
    if (divided_) {
        result.parameters = divided_->gathered(writes);
    } else {
        for (const auto& parameter : parts_.parameters.all())
            if (writes(parameter.name)) result.parameters.add(parameter.name, parameter.value.detach());
    }
    std::erase_if(result.state.average, [&](const auto& entry) { return !writes(entry.first); });
    if (rank != 0) result.state.precision.entries.clear();
    return result;
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
