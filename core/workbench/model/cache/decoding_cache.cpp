#include "core/workbench/model/cache/decoding_cache.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <ATen/ops/empty.h>

namespace switchyard::model {
namespace {

template <class Value>
at::Tensor tensor_of(const std::vector<std::int64_t>& values, at::IntArrayRef sizes, at::ScalarType dtype,
                     at::Device device) {
    auto tensor = at::empty(sizes, at::TensorOptions().dtype(dtype));
    std::transform(values.begin(), values.end(), tensor.mutable_data_ptr<Value>(),
                   [](std::int64_t value) { return static_cast<Value>(value); });
    return device.is_cpu() ? tensor : tensor.to(device);
}

at::Tensor lengths_tensor(const std::vector<std::int64_t>& values, at::Device device) {
    return tensor_of<std::int32_t>(values, {static_cast<std::int64_t>(values.size())}, at::kInt, device);
}

}  // namespace

std::vector<std::int64_t> row_lengths(const TokenBatch& side) {
    if (side.tokens.layout != Layout::padded || side.ids.dim() != 2)
        throw std::invalid_argument("a prompt is a padded batch, [rows, tokens]");
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(side.ids.size(0)), side.ids.size(1));
    if (!side.tokens.lengths.defined()) return lengths;
    const auto given = side.tokens.lengths.to(at::kCPU, at::kLong).contiguous();
    const auto* const first = given.const_data_ptr<std::int64_t>();
    lengths.assign(first, first + given.numel());
    return lengths;
}

DecodingCache::DecodingCache(std::unique_ptr<KvCache> self, std::unique_ptr<KvCache> cross)
    : self_(std::move(self)), cross_(std::move(cross)) {}

CachedStep DecodingCache::begin(const TokenBatch& grown, const TokenBatch* source) {
    const auto lengths = row_lengths(grown);
    const auto rows = static_cast<std::int64_t>(lengths.size());
    self_->begin(rows);
    self_->extend(lengths);
    CachedStep step;
    step.self = self_.get();
    step.longest = self_->longest();
    if (cross_ == nullptr) return step;
    if (source == nullptr) throw std::invalid_argument("the prompt has no source for the encoder");
    cross_->begin(rows);
    cross_->extend(row_lengths(*source));
    step.cross = cross_.get();
    sources_.resize(lengths.size());
    std::iota(sources_.begin(), sources_.end(), std::int64_t{0});
    source_lengths_ = source_lengths();
    return step;
}

at::Tensor DecodingCache::source_lengths() const {
    if (cross_->even() && !cross_->shape().stays) return {};
    return lengths_tensor(cross_->lengths(), cross_->shape().device);
}

std::vector<std::int64_t> DecodingCache::step_shapes() const {
    std::vector<std::int64_t> shapes{rows(), self_->shown()};
    if (cross_ != nullptr) shapes.push_back(cross_->shown());
    return shapes;
}

// Neither of the two ever falls.
std::int64_t DecodingCache::memory() const {
    return self_->memory() + (cross_ == nullptr ? 0 : cross_->memory());
}

CachedStep DecodingCache::extend(std::int64_t count) {
    const auto before = self_->lengths();
    const auto device = self_->shape().device;
    const bool even = self_->even() && !self_->shape().stays;
    self_->extend(std::vector<std::int64_t>(before.size(), count));
    CachedStep step;
    step.self = self_.get();
    step.cross = cross_.get();
    step.longest = self_->shown();
    step.source_lengths = source_lengths_;
    std::vector<std::int64_t> positions;
    for (std::size_t r = 0; r < (even ? std::min<std::size_t>(before.size(), 1) : before.size()); ++r)
        for (std::int64_t i = 0; i < count; ++i) positions.push_back(before[r] + i);
    const auto rows = static_cast<std::int64_t>(before.size());
    step.positions = even ? tensor_of<std::int64_t>(positions, {count}, at::kLong, device)
                          : tensor_of<std::int64_t>(positions, {rows, count}, at::kLong, device);
    if (even) return step;
    step.offsets = lengths_tensor(before, device);
    step.lengths = lengths_tensor(self_->lengths(), device);
    if (self_->shape().stays) step.places = step.positions;
    return step;
}

void DecodingCache::select(const std::vector<std::int64_t>& rows) {
    self_->select(rows);
    if (cross_ == nullptr) return;
    std::vector<std::int64_t> sources;
    for (const auto row : rows) sources.push_back(sources_[static_cast<std::size_t>(row)]);
    // Beams of one source change places among each other, which leaves its keys where they are.
    if (sources == sources_) return;
    cross_->select(rows);
    sources_ = std::move(sources);
    source_lengths_ = source_lengths();
}

void DecodingCache::take_back(const std::vector<std::int64_t>& counts) { self_->take_back(counts); }

bool DecodingCache::holds(std::int64_t rows, std::int64_t source) const {
    return self_->shape().rows >= rows &&
           (cross_ == nullptr || (cross_->shape().rows >= rows && cross_->shape().length >= source));
}

std::int64_t DecodingCache::bytes() const {
    return self_->bytes() + (cross_ == nullptr ? 0 : cross_->bytes());
}

}  // namespace switchyard::model
