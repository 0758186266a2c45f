// Rows that grow over a cache of keys and values: a new token costs the work of one token, not that of all
// before it. Uses the plan's phases prefill and decode.
#pragma once

#include <memory>
#include <optional>

#include "core/kernel/config/config.h"
#include "core/workbench/infer/graphed_decoding.h"
#include "core/workbench/infer/growing_rows.h"
#include "core/workbench/model/model.h"

namespace switchyard::infer {

class CachedRows final : public GrowingRows {
public:
    // Both outlive it. `limits`: what is going to be begun at most, for which a cache is made at once;
    // without rows one is made for what begins. Its length, the prompt included, is batch.max_length where it
    // is 0. `graphs`: what steps are captured with; nullptr: they are not. Throws base::InputError for a
    // cache that the machine has no memory for.
    CachedRows(const config::Config& config, const model::Model& model, model::CacheLimits limits = no_limits,
               std::shared_ptr<device_graph::GraphMaker> graphs = nullptr);

    static constexpr model::CacheLimits no_limits{.rows = 0};

    // Throw std::invalid_argument for a row that would be longer, base::InputError for a cache of more than
    // the limits that the machine has no memory for.
    at::Tensor begin(const std::vector<Beginning>& rows) override;
    at::Tensor append(const std::vector<Ids>& tokens) override;
    void select(const std::vector<std::int64_t>& rows) override;
    void take_back(const std::vector<std::int64_t>& counts) override;

    std::int64_t cache_bytes() const { return cache_ ? cache_->bytes() : 0; }

    const device_graph::GraphCounts* graph_counts() const { return graphed_ ? &graphed_->counts() : nullptr; }

private:
    at::Tensor prefill();
    at::Tensor append_some(const std::vector<Ids>& tokens, std::size_t first, std::size_t count);
    at::Tensor append_one_anew(const std::vector<Ids>& tokens, std::size_t at);
    // Tokens within the prefix see those that come after them: where a row is shorter, it begins anew.
    bool must_begin_anew() const;

    const config::Config& config_;
    const model::Model& model_;
    model::CacheLimits limits_;
    std::vector<Beginning> rows_;  // with all that was appended
    std::unique_ptr<model::DecodingCache> cache_;
    std::optional<GraphedDecoding> graphed_;
};

}  // namespace switchyard::infer
