// The samples of an evaluation that a model was most wrong about: those of the largest loss. Of tasks with
// one label, or one row of numbers, for a whole text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <switchyard/interfaces/batch.h>
#include "core/kernel/config/config.h"
#include "core/workbench/data/label_scale.h"
#include "core/workbench/model/model.h"

namespace switchyard::train {

struct WorstSample {
    std::int64_t sample = 0;  // its number among those that are evaluated
    double loss = 0.0;        // of it alone, in units of the evaluation's loss
    std::string label, predicted;
};

class WorstSamples {
public:
    // `scale`: of a regression's labels.
    WorstSamples(const config::Config& config, data::LabelScale scale);

    void add(const Batch& batch, const model::TaskResult& task);
    // One that another rank found.
    void add(const WorstSample& sample) { keep(sample); }
    // The largest loss first, of equal ones the first sample; a loss that is no number goes before all.
    std::vector<WorstSample> samples() const;

private:
    void add_classes(const Batch& batch, const model::TaskResult& task);
    void add_numbers(const Batch& batch, const model::TaskResult& task);
    void keep(WorstSample sample);

    config::TaskKind kind_;
    std::vector<std::string> labels_;
    data::LabelScale scale_;
    std::vector<WorstSample> kept_;  // a heap, the least bad one in front
};

}  // namespace switchyard::train
