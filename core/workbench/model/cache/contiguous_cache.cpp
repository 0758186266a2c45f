#include "core/workbench/model/cache/contiguous_cache.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace switchyard::model {
ContiguousCache::ContiguousCache(CacheShape shape) : KvCache(std::move(shape)) {
    const auto& made = this->shape();
    for (std::size_t i = 0; i < made.dtypes.size(); ++i)
        layers_.push_back({make(made.rows, made.stored(i)), make(made.rows, made.stored(i))});
}

TokenRows ContiguousCache::make(std::int64_t rows, at::ScalarType stored) const {
    return empty_rows({rows, shape().kv_heads, shape().length, shape().head_dim}, stored, shape().device);
}

void ContiguousCache::clear() {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        auto& layer = layers_[i];
        if (layer.k.values.size(0) >= rows()) continue;
        replaced();
        layer = {};  // before the larger ones are made
        layer = {make(rows(), shape().stored(i)), make(rows(), shape().stored(i))};
        clean_ = 0;
    }
    if (rows() <= clean_rows_) return;
    clean_rows_ = rows();
    clean_ = 0;
}

// A stretch at a time, and nothing of what no row has reached: that memory is not touched.
void ContiguousCache::make_room() {
    if (longest() <= clean_) return;
    const auto first = clean_;
    clean_ = rounded(longest());
    for (auto& layer : layers_) {
        layer.k.narrow(0, 0, clean_rows_).narrow(2, first, clean_ - first).zero();
        layer.v.narrow(0, 0, clean_rows_).narrow(2, first, clean_ - first).zero();
    }
}

void ContiguousCache::write(std::int64_t layer, const at::Tensor& k, const at::Tensor& v) {
    const auto& to = layers_[static_cast<std::size_t>(layer)];
    for (std::int64_t r = 0; r < rows(); ++r) {
        const auto count = added()[static_cast<std::size_t>(r)];
        const auto first = lengths()[static_cast<std::size_t>(r)] - count;
        store(k, {r, 0}, count, to.k, {r, first});
        store(v, {r, 0}, count, to.v, {r, first});
    }
}

void ContiguousCache::write_at(std::int64_t layer, const at::Tensor& k, const at::Tensor& v,
                               const at::Tensor& places) {
    const auto& to = layers_[static_cast<std::size_t>(layer)];
    store_at(k, to.k.narrow(0, 0, rows()), places);
    store_at(v, to.v.narrow(0, 0, rows()), places);
}

CachedKeys ContiguousCache::keys(std::int64_t layer) const {
    const auto index = static_cast<std::size_t>(layer);
    const auto part = [&](const TokenRows& x, std::size_t side) {
        const bool all = x.values.size(0) == rows();
        const auto stored = (all ? x : x.narrow(0, 0, rows())).narrow(2, 0, shown());
        const auto dtype = shape().dtypes[index];
        if (shape().stored(index) == dtype) return stored.values;
        const auto to = wide(side, dtype, shown());
        widen(stored, to);
        return to;
    };
    return {part(layers_[index].k, 0), part(layers_[index].v, 1), nullptr};
}

// Only what is filled is copied.
TokenRows ContiguousCache::reordered(const TokenRows& all, const std::vector<std::int64_t>& rows) const {
    const auto wanted = static_cast<std::int64_t>(rows.size());
    const auto to = make(std::max(wanted, all.values.size(0)), all.values.scalar_type());
    to.narrow(0, 0, clean_rows_).narrow(2, 0, clean_).zero();
    for (std::int64_t i = 0; i < wanted; ++i) {
        const auto from = rows[static_cast<std::size_t>(i)];
        copy(all, {from, 0}, lengths()[static_cast<std::size_t>(from)], to, {i, 0});
    }
    return to;
}

// Of what is there only the places that are clean have taken memory.
void ContiguousCache::require_memory_for(std::int64_t rows) const {
    auto grown = shape();
    grown.rows = rows;
    require_memory({grown}, bytes() / std::max<std::int64_t>(grown.length, 1) * clean_);
}

void ContiguousCache::reorder(const std::vector<std::int64_t>& rows) {
    const auto wanted = static_cast<std::int64_t>(rows.size());
    if (!layers_.empty() && wanted > layers_.front().k.values.size(0)) require_memory_for(wanted);
    clean_rows_ = std::max(clean_rows_, wanted);  // more are copied to memory that is clean there
    // Rows that only move up, over those that have left, can be copied in place, and most stay where they
    // are.
    const bool upwards = std::is_sorted(rows.begin(), rows.end(), std::less_equal<>());
    for (auto& layer : layers_) {
        for (auto* all : {&layer.k, &layer.v}) {
            if (!upwards) {
                const auto moved = reordered(*all, rows);
                if (shape().stays && moved.values.size(0) == all->values.size(0)) {
                    all->copy_from(moved, clean_);
                    continue;
                }
                *all = moved;
                replaced();
                continue;
            }
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const auto row = static_cast<std::int64_t>(i);
                if (rows[i] == row) continue;
                copy(*all, {rows[i], 0}, lengths()[static_cast<std::size_t>(rows[i])], *all, {row, 0});
            }
        }
    }
}

std::int64_t ContiguousCache::bytes() const {
    std::int64_t bytes = 0;
    for (const auto& layer : layers_) bytes += layer.k.bytes() + layer.v.bytes();
    return bytes;
}

}  // namespace switchyard::model
