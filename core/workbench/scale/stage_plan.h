// What each stage of a pipeline has (core/workbench/model/pipeline_stage.h), keeps and computes. A model that
// is whole is one stage.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/workbench/model/describer.h"
#include "core/workbench/scale/pipeline_time.h"
#include "core/workbench/scale/rank_memory.h"

namespace switchyard::scale {

struct StagePlan {
    std::string has;                 // "embeddings, decoder.0-3"
    std::int64_t parameters = 0;     // values
    std::int64_t trained = 0;        // of them
    double micro_batch_flops = 0.0;  // of forward of one
    double backward_flops = 0.0;     // likewise
    std::int64_t kept = 1;           // micro-batches whose activations it keeps, at most
    RankMemory memory;
    double waits_ms = 0.0;  // of forward and backward, for other stages

    Flops flops() const { return {micro_batch_flops, backward_flops}; }
};

// Of the stages of `config` (distributed.stage.parts), whose parts of layers each of `data_ranks` have.
// `products`: product_flops_of.
std::vector<StagePlan> stage_plans(const config::Config& config, DType computed_in, std::int64_t data_ranks,
                                   const std::vector<ProductFlops>& products, const Trained& trained);

// "embeddings, decoder.0-3"; nothing else is asked of `config` than its model.
std::string stage_text(const config::Config& config, std::int64_t stage);

// Parameters of the stage that `config` says.
std::vector<model::DescribedParameter> parameters_of_stage(const config::Config& config);

// What a stage hands to the next in a step, and back, and what it sums up with others that have it too.
struct StageTraffic {
    std::int64_t tensors = 0;    // of each micro-batch, each way
    double bytes = 0.0;          // of each
    double shared_bytes = 0.0;   // gradients of what several stages have
    std::int64_t shared_by = 1;  // stages, at most
};
StageTraffic stage_traffic(const config::Config& config, DType computed_in, const Trained& trained);

}  // namespace switchyard::scale
