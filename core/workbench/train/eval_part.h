// What one rank found out about its part of the samples of an evaluation, and all of them together.
#pragma once

#include <cstdint>
#include <vector>

#include "core/workbench/distributed/mesh.h"
#include "core/workbench/train/worst_samples.h"

namespace switchyard::train {

struct EvalPart {
    double loss = 0.0;  // sum over labels
    std::int64_t hits = 0, labels = 0, samples = 0;
    bool complete = false;             // none was left out
    bool with_logits = false;          // `hits` is known
    std::vector<double> numbers = {};  // of EvalMetrics
    std::vector<WorstSample> worst = {};
};

// All parts as one, on all ranks alike: in the order of ranks, which is that of the samples.
EvalPart join_parts(const distributed::Mesh& mesh, const EvalPart& own);

}  // namespace switchyard::train
