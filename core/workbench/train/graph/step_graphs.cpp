#include "core/workbench/train/graph/step_graphs.h"

#include <array>

#include <ATen/core/Tensor.h>

namespace switchyard::train {
namespace {

// All tensors of a batch, undefined ones included.
template <class OneBatch>
auto tensors_of(OneBatch& batch) {
    auto& a = batch.source;
    auto& b = batch.target;
    return std::array{
        &a.ids,        &a.token_type_ids,  &a.tokens.lengths, &a.tokens.cu_seqlens, &a.tokens.positions,
        &b.ids,        &b.token_type_ids,  &b.tokens.lengths, &b.tokens.cu_seqlens, &b.tokens.positions,
        &batch.labels, &batch.float_labels};
}

std::string shape_of(const at::Tensor& tensor) {
    if (!tensor.defined()) return "-";
    std::string text;
    for (const auto size : tensor.sizes()) {
        if (!text.empty()) text += 'x';
        text += std::to_string(size);
    }
    return text + " " + c10::toString(tensor.scalar_type());
}

std::string numbers_of(const Tokens& tokens) {
    return std::to_string(static_cast<int>(tokens.layout)) + "/" + std::to_string(tokens.max_seqlen);
}

// The same batches in memory of their own.
std::vector<Batch> copies_of(const std::vector<Batch>& batches) {
    auto copies = batches;
    for (auto& batch : copies) {
        for (auto* tensor : tensors_of(batch)) {
            if (tensor->defined()) *tensor = tensor->clone();
        }
    }
    return copies;
}

void copy_into(std::vector<Batch>& kept, const std::vector<Batch>& given) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const auto to = tensors_of(kept[i]);
        const auto from = tensors_of(given[i]);
        for (std::size_t t = 0; t < to.size(); ++t) {
            if (to[t]->defined()) to[t]->copy_(*from[t], /*non_blocking=*/true);
        }
    }
}

}  // namespace

std::string shapes_of(const std::vector<Batch>& batches) {
    std::string text;
    for (const auto& batch : batches) {
        for (const auto* tensor : tensors_of(batch)) text += shape_of(*tensor) + ", ";
        text += numbers_of(batch.source.tokens) + ", " + numbers_of(batch.target.tokens) + "; ";
    }
    return text;
}

StepGraphs::Bucket* StepGraphs::bucket_for(const std::vector<Batch>& batches) {
    const auto shapes = shapes_of(batches);
    const auto found = buckets_.find(shapes);
    if (found != buckets_.end()) {
        copy_into(found->second.batches, batches);
        return &found->second;
    }
    if (buckets_.size() == most_graphs) return nullptr;
    auto& bucket = buckets_[shapes];
    bucket.batches = copies_of(batches);
    return &bucket;
}

void StepGraphs::run(std::vector<Batch>& batches) {
    auto* const bucket = bucket_for(batches);
    if (bucket == nullptr) {
        ++counts_.uncaptured;
        return maker_.warm_up([&] { body_(batches); });
    }
    bucket->step.run(maker_, counts_, [&batches = bucket->batches, this] { body_(batches); },
                     {"this step", "train.cuda_graph"});
}

}  // namespace switchyard::train
