// What an evaluation says of a task besides its loss, under names that the run's records have too.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <switchyard/interfaces/batch.h>
#include "core/kernel/config/config.h"
#include "core/workbench/data/label_scale.h"
#include "core/workbench/model/model.h"
#include "core/workbench/score/confusion_matrix.h"
#include "core/workbench/score/metrics.h"

namespace switchyard::train {

class EvalMetrics {
public:
    virtual ~EvalMetrics() = default;
    void add(const Batch& batch, const model::TaskResult& task) { add(numbers(batch, task)); }
    // What there is to count in a batch, as numbers: those of several batches may be strung together, and
    // come from another rank.
    virtual std::vector<double> numbers(const Batch& batch, const model::TaskResult& task) const = 0;
    virtual void add(std::span<const double> numbers) = 0;
    // Over all that was added.
    virtual score::Metrics result() const = 0;
    // nullptr: of no task but those with one of several labels.
    virtual const score::ConfusionMatrix* confusion() const { return nullptr; }
};

// nullptr: the task has none. `scale`: of a regression's labels.
std::unique_ptr<EvalMetrics> eval_metrics(const config::Config& config, const data::LabelScale& scale);

}  // namespace switchyard::train
