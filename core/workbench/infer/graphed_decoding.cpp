#include "core/workbench/infer/graphed_decoding.h"

#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/joined.h"
#include "core/workbench/device_graph/capture_refusals.h"
#include "core/workbench/device_graph/cuda_graphs.h"

namespace switchyard::infer {
namespace {

constexpr const char* key = "cache.cuda_graph";

// The tensors that change from one step to the next; those of one shape are defined alike.
std::vector<at::Tensor*> tensors_of(model::CachedStep& step) {
    std::vector<at::Tensor*> tensors;
    for (auto* tensor : {&step.offsets, &step.positions, &step.lengths, &step.source_lengths, &step.places}) {
        if (tensor->defined()) tensors.push_back(tensor);
    }
    return tensors;
}

}  // namespace

GraphedDecoding::GraphedDecoding(const model::Model& model, std::shared_ptr<device_graph::GraphMaker> maker)
    : model_(model), maker_(std::move(maker)) {}

GraphedDecoding::Step& GraphedDecoding::step_for(const at::Tensor& ids, const model::CachedStep& cached,
                                                 const model::DecodingCache& cache) {
    if (cache.memory() != memory_) forget();  // what graphs read and write is gone
    memory_ = cache.memory();
    auto shapes = cache.step_shapes();
    shapes.push_back(ids.size(1));
    const auto [found, is_new] = graphs_.try_emplace(std::move(shapes));
    auto& step = found->second;
    if (!is_new) {
        step.ids.copy_(ids, /*non_blocking=*/true);
        auto given = cached;
        const auto from = tensors_of(given), to = tensors_of(step.cached);
        for (std::size_t i = 0; i < to.size(); ++i) to[i]->copy_(*from[i], /*non_blocking=*/true);
        return step;
    }
    step.ids = ids.clone();
    step.cached = cached;
    for (auto* tensor : tensors_of(step.cached)) *tensor = tensor->clone();
    return step;
}

at::Tensor GraphedDecoding::decode(const at::Tensor& ids, model::DecodingCache& cache) {
    const auto cached = cache.extend(ids.size(1));
    auto& step = step_for(ids, cached, cache);
    step.decoding.run(*maker_, counts_,
                      [this, &step] { step.logits = model_.decode({}, step.ids, step.cached); },
                      {"this decoding step", key});
    return step.logits.clone();  // a replay writes over it
}

std::shared_ptr<device_graph::GraphMaker> decoding_graphs(const config::Config& config,
                                                          const model::BoundPlan& plan) {
    if (!config.cache.cuda_graph) return nullptr;
    const auto problems = device_graph::capture_refusals(plan.bindings(Phase::decode), key);
    if (!problems.empty()) throw base::InputError(base::joined(problems, "\n"));
    auto loaded = device_graph::load_cuda_graphs(key);
    if (loaded.maker == nullptr) throw base::InputError(loaded.error);
    return std::move(loaded.maker);
}

}  // namespace switchyard::infer
