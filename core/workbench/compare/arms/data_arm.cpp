#include "core/workbench/compare/arms/data_arm.h"

#include <map>

#include <ATen/ops/cat.h>

#include "core/workbench/compare/arms/drawn_samples.h"
#include "core/workbench/train/step_parts.h"

namespace switchyard::compare {
namespace {

// Of each sequence in its place.
std::vector<at::Tensor> tokens_of(const TokenBatch& side) {
    std::vector<at::Tensor> tokens;
    const auto ids = side.ids.to(at::kCPU, at::kFloat);
    const bool padded = side.tokens.layout == Layout::padded;
    if (padded && !side.tokens.lengths.defined()) return ids.unbind(0);  // every row is full
    const auto& bounds = padded ? side.tokens.lengths : side.tokens.cu_seqlens;
    const auto numbers = bounds.to(at::kCPU, at::kLong).contiguous();
    const auto* const number = numbers.const_data_ptr<std::int64_t>();
    if (padded)
        for (std::int64_t row = 0; row < numbers.numel(); ++row)
            tokens.push_back(ids.select(0, row).narrow(0, 0, number[row]));
    else
        for (std::int64_t row = 0; row + 1 < numbers.numel(); ++row)
            tokens.push_back(ids.narrow(0, number[row], number[row + 1] - number[row]));
    return tokens;
}

}  // namespace

DataArm::DataArm(const config::Config& config, const resolver::Plan& plan, runtime::Registry& registry,
                 const HostInfo& host, const ArmServerOptions& options)
    : ArmServer(config, plan, registry, host, options),
      samples_(std::make_shared<data::SampleList>(drawn_samples(session_, options))) {}

ArmServer::First DataArm::first() {
    std::multimap<std::int64_t, at::Tensor> by_sample;  // the sequences of a sample keep their order
    const auto& few =
        session_.start_train_loader(std::make_shared<data::SampleList>(first_samples(*samples_)));
    for (Batch batch; few.next(batch);) {
        const auto add = [&](const TokenBatch& side) {
            const auto tokens = tokens_of(side);
            for (std::size_t i = 0; i < tokens.size(); ++i) by_sample.emplace(batch.samples.at(i), tokens[i]);
        };
        add(batch.source);
        if (batch.target.ids.defined()) add(batch.target);
    }
    std::vector<at::Tensor> ordered;
    for (const auto& [sample, tokens] : by_sample) ordered.push_back(tokens);
    First first;
    first.logits = at::cat(ordered);
    loader_ = &session_.start_train_loader(samples_);
    return first;
}

void DataArm::run_one(Turn& turn) {
    std::int64_t samples = 0, tokens = 0;
    for (Batch batch; loader_->next(batch);) {
        samples += train::sample_count(batch);
        tokens += batch.source.count + batch.target.count;
    }
    turn.loss.push_back(0.0);  // there is none
    turn.step_samples.push_back(samples);
    turn.step_tokens.push_back(tokens);
}

}  // namespace switchyard::compare
