#include "core/workbench/infer/cached_rows.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <c10/core/InferenceMode.h>

#include <switchyard/interfaces/torch_types.h>

namespace switchyard::infer {
namespace {

using Part = Ids Beginning::*;

at::Device device_of(const config::Config& config) { return at::Device(to_device_type(config.run.device)); }

std::int64_t size_of(const Ids& ids) { return static_cast<std::int64_t>(ids.size()); }

std::int64_t longest(const std::vector<Beginning>& rows, Part part) {
    std::int64_t longest = 0;
    for (const auto& row : rows) longest = std::max(longest, size_of(row.*part));
    return longest;
}

// One side of a prompt, padded at the right. What is padded with does not matter: nobody sees it.
TokenBatch padded(const std::vector<Beginning>& rows, Part part, at::Device device) {
    const auto count = static_cast<std::int64_t>(rows.size()), width = longest(rows, part);
    auto ids = at::full({count, width}, 0, at::kLong);
    auto lengths = at::empty({count}, at::kInt);
    bool even = true;
    TokenBatch batch;
    for (std::int64_t r = 0; r < count; ++r) {
        const auto& row = rows[static_cast<std::size_t>(r)].*part;
        std::copy(row.begin(), row.end(), ids.mutable_data_ptr<std::int64_t>() + r * width);
        lengths.mutable_data_ptr<std::int32_t>()[r] = static_cast<std::int32_t>(row.size());
        even = even && size_of(row) == width;
        batch.count += size_of(row);
    }
    batch.ids = ids.to(device);
    if (!even) batch.tokens.lengths = lengths.to(device);
    return batch;
}

void require_some(const std::vector<Beginning>& rows) {
    if (rows.empty()) throw std::invalid_argument("there is no row to begin");
    for (std::size_t r = 0; r < rows.size(); ++r) {
        if (rows[r].grown.empty())
            throw std::invalid_argument("row " + std::to_string(r) +
                                        " begins with no token; expected one at least");
    }
}

}  // namespace

CachedRows::CachedRows(const config::Config& config, const model::Model& model, model::CacheLimits limits,
                       std::shared_ptr<device_graph::GraphMaker> graphs)
    : config_(config), model_(model), limits_(limits) {
    if (limits_.length == 0) limits_.length = config.batch.max_length;
    if (graphs != nullptr) graphed_.emplace(model, std::move(graphs));
    limits_.stays = graphed_.has_value();
    const c10::InferenceMode inference;
    if (limits_.rows > 0) cache_ = model_.make_cache(limits_);
}

at::Tensor CachedRows::begin(const std::vector<Beginning>& rows) {
    require_some(rows);
    rows_ = rows;
    return prefill();
}

at::Tensor CachedRows::prefill() {
    const c10::InferenceMode inference;
    const auto device = device_of(config_);
    const bool reads_source = config_.model.has(config::Stack::encoder);
    const auto rows = static_cast<std::int64_t>(rows_.size()), source = longest(rows_, &Beginning::source);
    if (!cache_ || !cache_->holds(rows, source)) {
        if (graphed_) graphed_->forget();
        cache_.reset();  // before the next one is made
        auto limits = limits_;
        limits.rows = std::max(limits.rows, rows);
        limits.source = std::max(limits.source, source);
        cache_ = model_.make_cache(limits);
    }
    Batch batch;
    auto& grown = reads_source ? batch.target : batch.source;
    grown = padded(rows_, &Beginning::grown, device);
    if (reads_source) batch.source = padded(rows_, &Beginning::source, device);
    return model_.prefill({}, batch, *cache_).to(at::kFloat);
}

bool CachedRows::must_begin_anew() const {
    const auto prefix = config_.model.prefix;
    return prefix > 0 &&
           std::ranges::any_of(cache_->lengths(), [&](std::int64_t length) { return length < prefix; });
}

at::Tensor CachedRows::append(const std::vector<Ids>& tokens) {
    if (tokens.size() != rows_.size() || tokens.empty())
        throw std::invalid_argument("there are " + std::to_string(rows_.size()) + " rows, got tokens for " +
                                    std::to_string(tokens.size()));
    const auto count = tokens.front().size();
    for (const auto& row : tokens) {
        if (row.size() != count || count == 0)
            throw std::invalid_argument("each row gets as many tokens, one at least");
    }
    std::vector<at::Tensor> logits;
    for (std::size_t at = 0; at < count;) {
        const bool anew = must_begin_anew();
        const auto next =
            anew ? 1 : std::min(count - at, static_cast<std::size_t>(config_.cache.step_tokens));
        logits.push_back(anew ? append_one_anew(tokens, at) : append_some(tokens, at, next));
        at += next;
    }
    return logits.size() == 1 ? logits.front() : at::cat(logits, 1);
}

at::Tensor CachedRows::append_some(const std::vector<Ids>& tokens, std::size_t first, std::size_t count) {
    const c10::InferenceMode inference;
    const auto rows = static_cast<std::int64_t>(tokens.size()), n = static_cast<std::int64_t>(count);
    auto ids = at::empty({rows, n}, at::kLong);
    auto* to = ids.mutable_data_ptr<std::int64_t>();
    for (const auto& row : tokens)
        to = std::copy_n(row.begin() + static_cast<std::ptrdiff_t>(first), count, to);
    const auto on_device = ids.to(device_of(config_));
    const auto logits =
        graphed_ ? graphed_->decode(on_device, *cache_) : model_.decode({}, on_device, cache_->extend(n));
    for (std::size_t r = 0; r < tokens.size(); ++r) {
        const auto begin = tokens[r].begin() + static_cast<std::ptrdiff_t>(first);
        rows_[r].grown.insert(rows_[r].grown.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
    }
    return logits.to(at::kFloat);
}

at::Tensor CachedRows::append_one_anew(const std::vector<Ids>& tokens, std::size_t at) {
    for (std::size_t r = 0; r < tokens.size(); ++r) rows_[r].grown.push_back(tokens[r][at]);
    return prefill().unsqueeze(1);
}

void CachedRows::select(const std::vector<std::int64_t>& rows) {
    const c10::InferenceMode inference;
    cache_->select(rows);
    std::vector<Beginning> selected;
    for (const auto row : rows) selected.push_back(rows_[static_cast<std::size_t>(row)]);
    rows_ = std::move(selected);
}

void CachedRows::take_back(const std::vector<std::int64_t>& counts) {
    const c10::InferenceMode inference;
    cache_->take_back(counts);
    for (std::size_t r = 0; r < rows_.size(); ++r)
        rows_[r].grown.resize(rows_[r].grown.size() - static_cast<std::size_t>(counts[r]));
}

}  // namespace switchyard::infer
