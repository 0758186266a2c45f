// Decoding steps as a device replays them: one graph for each shape of a step and stretch of the cache
// that it reads, captured when such a step has come before.
//
// A small model's step is hundreds of launches of a few microseconds' work each; a replay is one. All that
// changes from step to step stands in tensors (CachedStep::places and its like), of caches that stay where
// they are (CacheShape::stays). The method: PyTorch's "CUDA graphs" notes; a cache of fixed place, as
// gpt-fast and transformers' StaticCache have it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/workbench/device_graph/captured_work.h"
#include "core/workbench/model/bound_plan.h"
#include "core/workbench/model/model.h"

namespace switchyard::infer {

class GraphedDecoding {
public:
    // `model` outlives it.
    GraphedDecoding(const model::Model& model, std::shared_ptr<device_graph::GraphMaker> maker);

    // As Model::decode after DecodingCache::extend; of a cache that stays.
    at::Tensor decode(const at::Tensor& ids, model::DecodingCache& cache);
    // The cache was replaced by another one.
    void forget() { graphs_.clear(); }

    const device_graph::GraphCounts& counts() const { return counts_; }

private:
    struct Step {
        at::Tensor ids;  // these tensors stay where they are
        model::CachedStep cached;
        at::Tensor logits;
        device_graph::CapturedWork decoding;
    };
    Step& step_for(const at::Tensor& ids, const model::CachedStep& cached, const model::DecodingCache& cache);

    const model::Model& model_;
    std::shared_ptr<device_graph::GraphMaker> maker_;
    std::map<std::vector<std::int64_t>, Step> graphs_;  // by what decides a step's shapes
    std::int64_t memory_ = 0;                           // of the cache that they were captured with
    device_graph::GraphCounts counts_;
};

// What captures the decoding steps of a job; nullptr where cache.cuda_graph does not ask for it. Throws
// base::InputError naming the components whose calls cannot be captured.
std::shared_ptr<device_graph::GraphMaker> decoding_graphs(const config::Config& config,
                                                          const model::BoundPlan& plan);

}  // namespace switchyard::infer
