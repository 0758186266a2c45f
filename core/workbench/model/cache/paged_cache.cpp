#include "core/workbench/model/cache/paged_cache.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros.h>

namespace switchyard::model {

PagedKvCache::PagedKvCache(CacheShape shape) : KvCache(std::move(shape)) {
    layers_.resize(this->shape().dtypes.size());
    grow(this->shape().pages_in_all());
}

std::int64_t PagedKvCache::pages_for(std::int64_t tokens) const {
    return (tokens + shape().page_size - 1) / shape().page_size;
}

// Pages of low numbers are taken first, so that memory which no row needs is never touched.
void PagedKvCache::grow(std::int64_t pages) {
    const auto before = pages_in_all();
    if (pages <= before) return;
    if (before > 0) {  // else whoever makes the cache has asked
        auto grown = shape();
        grown.rows = 1;  // pages are rows' of any length
        grown.length = pages * grown.page_size;
        grown.pages = pages;
        require_memory({grown}, bytes());
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        auto& layer = layers_[i];
        layer.shared = {};
        for (auto* rows : {&layer.k, &layer.v}) {
            auto more = empty_rows({pages, shape().kv_heads, shape().page_size, shape().head_dim},
                                   shape().stored(i), shape().device);
            if (before > 0) {
                more.values.narrow(0, 0, before).copy_(rows->values);
                if (rows->scales.defined()) more.scales.narrow(0, 0, before).copy_(rows->scales);
            }
            *rows = std::move(more);
        }
    }
    holders_.resize(static_cast<std::size_t>(pages), 0);
    std::vector<Page> fresh;
    for (Page page = pages - 1; page >= before; --page) fresh.push_back(page);
    free_.insert(free_.begin(), fresh.begin(), fresh.end());
}

PagedKvCache::Page PagedKvCache::take() {
    // More rows than there was room for at the beginning.
    if (free_.empty()) grow(std::max<std::int64_t>(pages_in_all() * 3 / 2, pages_in_all() + 1));
    const auto page = free_.back();
    free_.pop_back();
    holders_[static_cast<std::size_t>(page)] = 1;
    return page;
}

void PagedKvCache::release(Page page) {
    if (--holders_[static_cast<std::size_t>(page)] == 0) free_.push_back(page);
}

void PagedKvCache::release_all() {
    for (const auto& pages : table_)
        for (const auto page : pages) release(page);
    table_.clear();
}

void PagedKvCache::clear() {
    release_all();
    table_.resize(static_cast<std::size_t>(rows()));
    grow(rows() * pages_for(shape().length));
}

// A page that other rows have too is copied before this row writes to it.
void PagedKvCache::own(Page& page) {
    if (holders_[static_cast<std::size_t>(page)] == 1) return;
    const auto copy = take();
    for (auto& layer : layers_) {
        for (auto* rows : {&layer.k, &layer.v})
            model::copy(*rows, {page, 0}, shape().page_size, *rows, {copy, 0});
    }
    release(page);
    page = copy;
}

void PagedKvCache::make_room() {
    for (std::size_t r = 0; r < table_.size(); ++r) {
        auto& pages = table_[r];
        const auto first = lengths()[r] - added()[r];
        if (added()[r] > 0 && first % shape().page_size != 0) own(pages.back());
        while (static_cast<std::int64_t>(pages.size()) < pages_for(lengths()[r])) pages.push_back(take());
    }
    tell_layers();
}

void PagedKvCache::settle() {
    for (std::size_t r = 0; r < table_.size(); ++r) {
        while (static_cast<std::int64_t>(table_[r].size()) > pages_for(lengths()[r])) {
            release(table_[r].back());
            table_[r].pop_back();
        }
    }
    tell_layers();
}

void PagedKvCache::reorder(const std::vector<std::int64_t>& rows) {
    std::vector<std::vector<Page>> table;
    for (const auto row : rows) {
        table.push_back(table_[static_cast<std::size_t>(row)]);
        for (const auto page : table.back()) ++holders_[static_cast<std::size_t>(page)];
    }
    release_all();
    table_ = std::move(table);
}

void PagedKvCache::tell_layers() {
    const auto count = rows(), most = pages_for(longest());
    auto table = at::zeros({count, std::max<std::int64_t>(most, 1)}, at::kInt);
    auto lengths = at::empty({count}, at::kInt);
    for (std::int64_t r = 0; r < count; ++r) {
        const auto& pages = table_[static_cast<std::size_t>(r)];
        std::transform(pages.begin(), pages.end(), table.mutable_data_ptr<std::int32_t>() + r * table.size(1),
                       [](Page page) { return static_cast<std::int32_t>(page); });
        lengths.mutable_data_ptr<std::int32_t>()[r] =
            static_cast<std::int32_t>(this->lengths()[static_cast<std::size_t>(r)]);
    }
    shown_ = table = table.to(shape().device);
    lengths = lengths.to(shape().device);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        auto& layer = layers_[i];
        if (shape().stored(i) != shape().dtypes[i]) continue;
        layer.shared = {layer.k.values.transpose(1, 2), layer.v.values.transpose(1, 2), table, lengths};
    }
}

void PagedKvCache::write(std::int64_t layer, const at::Tensor& k, const at::Tensor& v) {
    const auto& to = layers_[static_cast<std::size_t>(layer)];
    const auto size = shape().page_size;
    for (std::int64_t r = 0; r < rows(); ++r) {
        const auto row = static_cast<std::size_t>(r);
        const auto first = lengths()[row] - added()[row];
        for (std::int64_t done = 0; done < added()[row];) {
            const auto within = (first + done) % size;
            const auto count = std::min(size - within, added()[row] - done);
            const auto page = table_[row][static_cast<std::size_t>((first + done) / size)];
            store(k, {r, done}, count, to.k, {page, within});
            store(v, {r, done}, count, to.v, {page, within});
            done += count;
        }
    }
}

// [R, K, longest row, D]; what lies past a row's length is finite.
at::Tensor PagedKvCache::gathered(const TokenRows& pages, std::size_t side, at::ScalarType dtype) const {
    const auto size = shape().page_size, most = pages_for(longest());
    if (!picked_.values.defined() || picked_.values.scalar_type() != pages.values.scalar_type())
        picked_ = empty_rows({pages_for(shape().length), shape().kv_heads, size, shape().head_dim},
                             pages.values.scalar_type(), shape().device);
    const auto all = wide(side, dtype, most * size);
    for (std::int64_t r = 0; r < rows(); ++r) {
        const auto length = lengths()[static_cast<std::size_t>(r)], count = pages_for(length);
        const auto which = shown_.select(0, r).narrow(0, 0, count);
        auto picked = picked_.narrow(0, 0, count);
        at::index_select_out(picked.values, pages.values, 0, which);
        if (picked.scales.defined()) at::index_select_out(picked.scales, pages.scales, 0, which);
        const auto row = all.select(0, r);
        widen(picked, row.narrow(1, 0, count * size).unflatten(1, {count, size}).transpose(0, 1));
        row.narrow(1, length, most * size - length).zero_();
    }
    return all.narrow(2, 0, longest());
}

CachedKeys PagedKvCache::keys(std::int64_t layer) const {
    const auto index = static_cast<std::size_t>(layer);
    const auto& all = layers_[index];
    const auto dtype = shape().dtypes[index];
    if (shape().stored(index) == dtype) return {{}, {}, &all.shared};
    return {gathered(all.k, 0, dtype), gathered(all.v, 1, dtype), nullptr};
}

std::int64_t PagedKvCache::pages_held() const {
    return std::count_if(holders_.begin(), holders_.end(), [](std::int64_t count) { return count > 0; });
}

std::int64_t PagedKvCache::bytes() const {
    std::int64_t bytes = 0;
    for (const auto& layer : layers_) bytes += layer.k.bytes() + layer.v.bytes();
    return bytes;
}

}  // namespace switchyard::model
