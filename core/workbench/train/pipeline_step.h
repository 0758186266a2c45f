// The forward and backward passes of one stage of a pipeline (core/workbench/model/pipeline_stage.h): as
// pipeline_schedule.h says, hidden states go to the stage behind and their gradients to the one before.
//
// All stages know the batches, and so the shapes of what they receive. What several stages have - the table
// of words where it is the head's too, positions that all layers of a stack share - gets the sum of their
// gradients on each of them, so that they all step it alike.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/workbench/distributed/group.h"
#include "core/workbench/model/model.h"
#include "core/workbench/model/pipeline_schedule.h"
#include "core/workbench/train/model_parts.h"

namespace switchyard::train {

class PipelineStep {
public:
    // On all ranks of `parts`' mesh, which has a pipeline. What is handed in outlives it.
    PipelineStep(const ModelParts& parts, const config::Config& config, const model::Model& model,
                 const model::Parameters& parameters);

    // Runs backward, which adds to the gradients; `last`: it makes the step's last.
    using RunBackward = std::function<void(const std::function<void()>& backward, bool last)>;
    // Both passes of all micro-batches, which know their first documents. The sum of their losses, each
    // times `scale` for backward, where this is the last stage; else 0.
    double run(const model::ForwardContext& context, const std::vector<Batch>& batches,
               const LossParams& loss, double scale, const RunBackward& backward);

    // The last hidden states of a forward pass without gradients, on all stages; undefined: this is not the
    // last one.
    at::Tensor hidden(const model::ForwardContext& context, const Batch& batch);
    // And what the task makes of them.
    std::optional<model::TaskResult> forward(const model::ForwardContext& context, const Batch& batch,
                                             const LossParams& loss);
    // After the last of them.
    void end_forwards();

private:
    struct Kept;
    class Step;
    struct Shared {
        at::Tensor parameter;
        distributed::Group* ranks;  // that have it
    };

    model::StageState receive_forward(Phase phase, const Batch& batch);
    void sum_shared();

    model::PipelineStage stage_;
    config::PipelineSchedule schedule_;
    const model::Model& model_;
    distributed::Group& stages_;
    // The same ranks: what goes back must not wait for what goes forward, where one queue orders both.
    std::unique_ptr<distributed::Group> back_;
    std::map<std::vector<std::int64_t>, std::unique_ptr<distributed::Group>> some_;
    std::vector<Shared> shared_;
    std::unique_ptr<distributed::Transfer> sent_;  // by the last forward pass
};

}  // namespace switchyard::train
