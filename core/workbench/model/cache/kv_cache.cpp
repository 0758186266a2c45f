#include "core/workbench/model/cache/kv_cache.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <ATen/ops/empty.h>

namespace switchyard::model {
namespace {

constexpr std::int64_t stretch = 64;  // tokens

void require_one_a_row(std::size_t given, std::size_t rows) {
    if (given == rows) return;
    throw std::invalid_argument("the cache has " + std::to_string(rows) + " rows, got numbers for " +
                                std::to_string(given));
}

}  // namespace

std::int64_t KvCache::longest() const {
    return lengths_.empty() ? 0 : *std::max_element(lengths_.begin(), lengths_.end());
}

std::int64_t KvCache::rounded(std::int64_t length) const {
    return std::min(shape_.length, (length + stretch - 1) / stretch * stretch);
}

std::int64_t KvCache::shown() const { return shape_.stays ? rounded(longest()) : longest(); }

void KvCache::write_at(std::int64_t, const at::Tensor&, const at::Tensor&, const at::Tensor&) {
    throw std::logic_error("a cache of this kind is not written to through tensors");
}

at::Tensor KvCache::wide(std::size_t side, at::ScalarType dtype, std::int64_t length) const {
    auto& all = wide_[{side, dtype}];
    if (!all.defined() || all.size(0) < rows())
        all = at::empty(
            {std::max(shape_.rows, rows()), shape_.kv_heads, shape_.whole_length(), shape_.head_dim},
            at::TensorOptions().dtype(dtype).device(shape_.device));
    return all.narrow(0, 0, rows()).narrow(2, 0, length);
}

bool KvCache::even() const {
    return std::all_of(lengths_.begin(), lengths_.end(),
                       [&](std::int64_t length) { return length == lengths_.front(); });
}

void KvCache::begin(std::int64_t rows) {
    lengths_.assign(static_cast<std::size_t>(rows), 0);
    added_ = lengths_;
    clear();
}

void KvCache::extend(const std::vector<std::int64_t>& counts) {
    require_one_a_row(counts.size(), lengths_.size());
    for (std::size_t r = 0; r < counts.size(); ++r) {
        if (lengths_[r] + counts[r] <= shape_.length) continue;
        throw std::invalid_argument("row " + std::to_string(r) + " would have " +
                                    std::to_string(lengths_[r] + counts[r]) +
                                    " tokens; expected at most the " + std::to_string(shape_.length) +
                                    " that the cache was made for");
    }
    added_ = counts;
    for (std::size_t r = 0; r < counts.size(); ++r) lengths_[r] += counts[r];
    make_room();
}

void KvCache::select(const std::vector<std::int64_t>& rows) {
    std::vector<std::int64_t> lengths;
    for (const auto row : rows) {
        if (row < 0 || row >= this->rows())
            throw std::invalid_argument("there is no row " + std::to_string(row) + " in a cache of " +
                                        std::to_string(this->rows()));
        lengths.push_back(lengths_[static_cast<std::size_t>(row)]);
    }
    reorder(rows);
    lengths_ = std::move(lengths);
    added_.assign(lengths_.size(), 0);
    settle();
}

void KvCache::take_back(const std::vector<std::int64_t>& counts) {
    require_one_a_row(counts.size(), lengths_.size());
    for (std::size_t r = 0; r < counts.size(); ++r) {
        if (counts[r] < 0 || counts[r] > lengths_[r])
            throw std::invalid_argument("cannot take " + std::to_string(counts[r]) + " of the " +
                                        std::to_string(lengths_[r]) + " tokens of row " + std::to_string(r));
    }
    for (std::size_t r = 0; r < counts.size(); ++r) lengths_[r] -= counts[r];
    added_.assign(lengths_.size(), 0);
    settle();
}

}  // namespace switchyard::model
