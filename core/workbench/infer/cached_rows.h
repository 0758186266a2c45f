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
    // Both outlive it. `length`: most tokens of a row, prompt included, which memory is taken for; 0:
    // batch.max_length. `graphs`: what steps are captured with; nullptr: they are not.
    CachedRows(const config::Config& config, const model::Model& model, std::int64_t length = 0,
               std::shared_ptr<device_graph::GraphMaker> graphs = nullptr);

    // Throw std::invalid_argument for a row that would be longer, base::InputError for a cache that the
    // machine has no memory for.
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
    std::int64_t length_;
    std::vector<Beginning> rows_;  // with all that was appended
    std::unique_ptr<model::DecodingCache> cache_;
    std::optional<GraphedDecoding> graphed_;
};

}  // namespace switchyard::infer
